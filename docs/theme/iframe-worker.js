/* Browsers refuse workers to pages that are opened as files. There the search runs in a hidden frame instead. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      const inner = frame.contentWindow
      const answer = data => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      inner.postMessage = answer
      inner.importScripts = (...urls) =>
        urls.reduce((before, each) => before.then(() => this.load(inner, each)), Promise.resolve())
      this.frame = frame
      this.inner = inner
      this.ready = this.load(inner, url)
    }
    load(inner, url) {
      return new Promise((done, failed) => {
        const script = inner.document.createElement("script")
        script.src = String(url)
        script.onload = done
        script.onerror = failed
        inner.document.body.append(script)
      })
    }
    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })))
    }
    terminate() {
      this.frame.remove()
    }
  }
}
