// Which rows are selected, and which one is looked at. All pictures and the table watch it.

const selection = {
  chosen: new Set(),
  current: rows.count > 0 ? 0 : -1,
  watchers: [],
  order: null, // the selected rows sorted, once someone has asked

  // A watcher hears whether other rows are selected now (`chosen`), which may be costly to show, and
  // whether the row that is looked at is to be brought into view (`show`).
  watch(watcher) {
    this.watchers.push(watcher);
  },
  tell(news) {
    if (news.chosen) this.order = null;
    for (const watcher of this.watchers) watcher(news);
  },
  has(i) {
    return this.chosen.has(i);
  },
  look(i, show = false) {
    this.current = i;
    this.tell({ show });
  },
  set(list, show = false) {
    this.chosen = new Set(list);
    if (list.length > 0 && !this.chosen.has(this.current)) this.current = list[0];
    this.tell({ chosen: true, show });
  },
  add(list) {
    for (const i of list) this.chosen.add(i);
    if (list.length > 0) this.current = list[0];
    this.tell({ chosen: true });
  },
  toggle(i) {
    if (!this.chosen.delete(i)) this.chosen.add(i);
    this.current = i;
    this.tell({ chosen: true });
  },
  clear() {
    this.set([]);
  },
  // In the order of the page: the most extreme first.
  sorted() {
    this.order = this.order || [...this.chosen].sort((a, b) => a - b);
    return this.order;
  },
};
