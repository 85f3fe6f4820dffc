// The line that moves over a spectrogram while its sound plays, and the time under the pointer.

class Playhead {
  /**
   * `image` shows the scene: an <img>, an <svg> whose viewBox is in the scene's pixels, or an element of its size.
   * `onSeek(seconds)` is called with a click, unless the page has prevented its default.
   */
  constructor(image, scene, onSeek) {
    this.image = image;
    this.scene = scene;
    this.start = scene.window ? scene.window[0] : 0;
    this.holder = image instanceof HTMLElement && image.tagName !== 'IMG' ? image : image.parentElement;
    this.line = viewerElement('div', 'playhead');
    this.band = viewerElement('div', 'playhead-band');
    this.time = 0;
    this.segment = null;
    if (getComputedStyle(this.holder).position === 'static') this.holder.classList.add('playhead-holder');
    this.holder.append(this.band, this.line);
    this.listeners = new AbortController();
    this.listen(onSeek);
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(image);
    // A page zooms by a transform or a viewBox, which is no change of size.
    this.zoomed = new MutationObserver(() => this.draw());
    this.zoomed.observe(image, { attributes: true, attributeFilter: ['viewBox', 'style', 'class', 'transform'] });
  }

  listen(onSeek) {
    const { signal } = this.listeners;
    let pressed = null;
    this.image.addEventListener('pointerdown', event => (pressed = [event.clientX, event.clientY]), { signal });
    this.image.addEventListener('click', event => {
      const moved = pressed && Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 5;
      const time = this.timeAt(event.clientX, event.clientY);
      if (!event.defaultPrevented && !moved && event.button === 0) onSeek(time);
    }, { signal });
  }

  /** The map from pixels of the scene to pixels of the window. */
  toClient() {
    if (this.image.getScreenCTM) return this.image.getScreenCTM();
    const box = this.image.getBoundingClientRect();
    return new DOMMatrix([box.width / this.scene.width, 0, 0, box.height / this.scene.height, box.left, box.top]);
  }

  /** Seconds of the sound at a place in the window. */
  timeAt(clientX, clientY) {
    const [a, , c, , e] = this.scene.toItem;
    const pixel = new DOMPoint(clientX, clientY).matrixTransform(this.toClient().inverse());
    return a * pixel.x + c * pixel.y + e - this.start;
  }

  /** Show a time, and the segment that is played, or null for all of it. */
  show(time, segment) {
    this.time = time;
    this.segment = segment;
    this.draw();
  }

  draw() {
    const matrix = this.toClient();
    const outer = this.holder.getBoundingClientRect();
    if (!matrix || !outer.width) return;
    const scale = outer.width / this.holder.offsetWidth || 1;
    const [a, , , , e] = this.scene.toItem;
    const top = (matrix.f - outer.top) / scale - this.holder.clientTop;
    const height = matrix.d * this.scene.height / scale;
    const left = time => {
      const client = matrix.a * ((time + this.start - e) / a) + matrix.e;
      return (client - outer.left) / scale - this.holder.clientLeft;
    };
    const place = (element, x, width) => {
      const seen = x + width >= -1 && x <= this.holder.clientWidth + 1;
      element.hidden = !seen;
      Object.assign(element.style, { left: `${x}px`, top: `${top}px`, height: `${height}px` });
      if (width) element.style.width = `${width}px`;
    };
    place(this.line, left(this.time), 0);
    if (this.segment) place(this.band, left(this.segment[0]), left(this.segment[1]) - left(this.segment[0]));
    else this.band.hidden = true;
  }

  destroy() {
    this.listeners.abort();
    this.resized.disconnect();
    this.zoomed.disconnect();
    this.line.remove();
    this.band.remove();
    this.holder.classList.remove('playhead-holder');
  }
}
