// Mouse, touch, wheel and keys for an orbit camera: drag turns, shift-drag or two fingers pan, wheel or pinch zoom.

const CAMERA_KEY_TURN = Math.PI / 24;
const CAMERA_KEY_PAN = 0.06;

/**
 * Steer `camera` from `canvas`. `onMove()` is called after each change, `onClick(x, y)` and `onHover(x, y)` with a
 * place in the window, -1..1 and y up, and `onHome()` with the Home key. Returns a function that ends it.
 */
function steerCamera(canvas, camera, { onMove, onClick, onHover, onHome }) {
  const listeners = new AbortController();
  const on = (name, handler, options) => canvas.addEventListener(name, handler, { signal: listeners.signal, ...options });
  const pointers = new Map();
  let travelled = 0;

  function place(event) {
    const box = canvas.getBoundingClientRect();
    return [2 * (event.clientX - box.left) / box.width - 1, 1 - 2 * (event.clientY - box.top) / box.height];
  }

  /** Middle of the fingers and the distance between the first two, in pixels. */
  function grip() {
    const spots = [...pointers.values()];
    const middle = [0, 1].map(i => spots.reduce((sum, spot) => sum + spot[i], 0) / spots.length);
    return { middle, span: spots.length > 1 ? Math.hypot(spots[0][0] - spots[1][0], spots[0][1] - spots[1][1]) : 0 };
  }

  on('pointerdown', event => {
    if (event.pointerType === 'mouse' && event.button > 2) return;
    canvas.setPointerCapture(event.pointerId);
    if (!pointers.size) travelled = 0;
    else travelled = Infinity; // a second finger makes it no click
    pointers.set(event.pointerId, [event.clientX, event.clientY]);
  });

  on('pointermove', event => {
    if (!pointers.has(event.pointerId)) {
      if (event.pointerType === 'mouse') onHover(...place(event));
      return;
    }
    const before = grip();
    const last = pointers.get(event.pointerId);
    pointers.set(event.pointerId, [event.clientX, event.clientY]);
    travelled += Math.hypot(event.clientX - last[0], event.clientY - last[1]);
    if (travelled < 4) return; // a hand that trembles still clicks
    const after = grip();
    const [x, y] = [0, 1].map(i => after.middle[i] - before.middle[i]);
    const pans = pointers.size > 1 || event.shiftKey || (event.buttons & 6) !== 0;
    if (pans) camera.pan(x / canvas.clientHeight, -y / canvas.clientHeight);
    else camera.turn(-x * 0.006, y * 0.006);
    if (before.span > 10 && after.span > 10) {
      const [clientX, clientY] = after.middle;
      camera.zoom(before.span / after.span, ...place({ clientX, clientY }));
    }
    onMove();
  });

  const lift = clicks => event => {
    if (!pointers.delete(event.pointerId)) return;
    if (clicks && travelled < 4 && event.button === 0) onClick(...place(event));
  };
  on('pointerup', lift(true));
  on('pointercancel', lift(false));
  on('lostpointercapture', lift(false));
  on('pointerleave', () => onHover(null, null));
  on('contextmenu', event => event.preventDefault());

  on('wheel', event => {
    event.preventDefault();
    const pixels = event.deltaY * [1, 16, 400][event.deltaMode];
    camera.zoom(Math.exp(Math.max(-1, Math.min(1, pixels * (event.ctrlKey ? 0.01 : 0.0016)))), ...place(event));
    onMove();
  }, { passive: false });

  on('keydown', event => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const [x, y] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key] ?? [0, 0];
    if (x || y) {
      if (event.shiftKey) camera.pan(-x * CAMERA_KEY_PAN, -y * CAMERA_KEY_PAN);
      else camera.turn(x * CAMERA_KEY_TURN, y * CAMERA_KEY_TURN);
    } else if (event.key === '+' || event.key === '=') camera.zoom(0.85);
    else if (event.key === '-' || event.key === '_') camera.zoom(1 / 0.85);
    else if (event.key === 'Home') onHome();
    else return;
    // The page's own keys are for when the view has not the focus.
    event.preventDefault();
    event.stopPropagation();
    onMove();
  });

  return () => listeners.abort();
}
