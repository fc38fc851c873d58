/* A Worker for pages opened from a folder, where browsers start none: the script runs in a hidden
   frame instead. The search needs it. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      // Written now, so that no browser puts an empty page in its place later.
      this.inside.document.write("<!doctype html><body></body>");
      this.inside.document.close();
      this.waiting = [];
      // What the script sends arrives here, a turn later, as from a real worker.
      this.inside.postMessage = data => setTimeout(() => this.receive(data));
      this.inside.importScripts = () => {};
      const script = this.inside.document.createElement("script");
      script.src = new URL(url, location.href);
      script.onload = () => {
        const messages = this.waiting;
        this.waiting = null;
        messages.forEach(data => this.deliver(data));
      };
      this.inside.document.body.append(script);
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else setTimeout(() => this.deliver(data));
    }
    deliver(data) {
      this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }));
    }
    receive(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }
    terminate() {
      this.inside.frameElement.remove();
    }
  };
}
