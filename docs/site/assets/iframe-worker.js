// Browsers start no worker for a page that was opened as a file. There a hidden frame runs the script of the search.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.waiting = []
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      this.scope = frame.contentWindow
      this.scope.postMessage = data => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      this.scope.importScripts = (...names) => Promise.all(names.map(name => this.load(new URL(name, url).href)))
      this.load(url).then(() => {
        const waiting = this.waiting
        this.waiting = null
        waiting.forEach(data => this.deliver(data))
      })
    }

    load(url) {
      return new Promise((done, failed) => {
        const script = this.scope.document.createElement("script")
        script.src = url
        script.onload = done
        script.onerror = failed
        this.scope.document.body.appendChild(script)
      })
    }

    deliver(data) {
      this.scope.dispatchEvent(new this.scope.MessageEvent("message", { data }))
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data)
      else this.deliver(data)
    }

    terminate() {
      this.scope.frameElement.remove()
    }
  }
}
