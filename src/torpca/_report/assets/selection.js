// Which rows are selected, and which one is looked at. All pictures and the table watch it.

const selection = {
  chosen: new Set(),
  current: rows.count > 0 ? 0 : -1,
  watchers: [],

  watch(watcher) {
    this.watchers.push(watcher);
  },
  tell() {
    for (const watcher of this.watchers) watcher();
  },
  has(i) {
    return this.chosen.has(i);
  },
  look(i) {
    this.current = i;
    this.tell();
  },
  set(list) {
    this.chosen = new Set(list);
    if (list.length > 0 && !this.chosen.has(this.current)) this.current = list[0];
    this.tell();
  },
  add(list) {
    for (const i of list) this.chosen.add(i);
    if (list.length > 0) this.current = list[0];
    this.tell();
  },
  toggle(i) {
    if (!this.chosen.delete(i)) this.chosen.add(i);
    this.current = i;
    this.tell();
  },
  clear() {
    this.set([]);
  },
  // In the order of the page: the most extreme first.
  sorted() {
    return [...this.chosen].sort((a, b) => a - b);
  },
};
