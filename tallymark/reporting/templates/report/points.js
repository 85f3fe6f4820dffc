// The 3D view of a lidar sweep: points coloured by height, boxes in the style of their outcome, a camera that turns.

const POINTS_KEYS = 'Arrow keys turn, with shift they move, plus and minus zoom, Home resets.';

/**
 * Mount a view of `scene.points` in `element`, with the `cuboid` of each of `objects`.
 *
 * `objects` are the shown ones of `scene.objects`, or copies with their place there as `index`. `options.selected` is
 * such a place or null; `options.onSelect(index)` is called with a click, and null beside all boxes; `options.forward`
 * is the direction of travel in radians, 0 along x; `options.describe(object)` the text beside a box. The result has
 * `update(objects, selected)` and `destroy()`.
 */
function mountPoints(element, scene, objects, options = {}) {
  const cloud = readPointCloud(scene.points);
  const forward = options.forward ?? 0;
  const camera = new OrbitCamera();
  const stage = viewerElement('div', 'points-view');
  const labels = viewerElement('div', 'points-labels');
  const listeners = new AbortController();
  let [shown, selected, hovered] = [[], null, null];
  let [canvas, gl, stopSteering, frame, clicked] = [null, null, null, 0, null];
  const legend = viewerElement('div', 'points-legend');
  let look = null;

  const views = {
    top: { elevation: CAMERA_HIGHEST, distance: 2 * cloud.reach, target: center(), azimuth: forward + Math.PI },
    side: { elevation: 0.18, distance: 1.3 * cloud.reach, target: center(), azimuth: forward - Math.PI / 2 },
    behind: { elevation: 0.3, distance: 26, target: center(8), azimuth: forward + Math.PI },
    reset: { elevation: 0.62, distance: 1.15 * cloud.reach, target: center(0.12 * cloud.reach), azimuth: forward + Math.PI },
  };
  camera.limits = [2, 6 * cloud.reach];
  camera.fly(views.reset, 0, false);

  /** A place on the ground, so many metres ahead of the sensor. */
  function center(ahead = 0) {
    return [cloud.sensor[0] + ahead * Math.cos(forward), cloud.sensor[1] + ahead * Math.sin(forward), cloud.ground];
  }

  function fly(goal) {
    camera.fly(goal, performance.now(), !matchMedia('(prefers-reduced-motion: reduce)').matches);
    redraw();
  }

  function flyToSelected() {
    const object = shown.find(({ index }) => index === selected);
    if (!object) return;
    const [x, y, z, ...size] = object.cuboid;
    const distance = Math.max(14, 3.6 * Math.max(...size.slice(0, 3)));
    fly({ target: [x, y, z], distance, elevation: Math.min(1.1, Math.max(0.35, camera.elevation)) });
  }

  /** Draw once, at the next frame, however often it is asked for. */
  function redraw() {
    if (!frame && gl) frame = requestAnimationFrame(draw);
  }

  function draw(now) {
    frame = 0;
    if (!gl || !look || !canvas.clientWidth) return;
    const flies = camera.step(now);
    gl.draw(camera, canvas.width / canvas.clientWidth, look);
    drawLabels();
    stage.dataset.frames = Number(stage.dataset.frames ?? 0) + 1;
    if (flies) redraw();
  }

  function drawLabels() {
    const texts = ringRadii(cloud.reach).map(radius => {
      const towards = camera.azimuth + Math.PI;
      const place = [cloud.sensor[0] + radius * Math.cos(towards), cloud.sensor[1] + radius * Math.sin(towards), cloud.ground];
      return { text: `${radius} m`, spot: camera.project(place), className: 'points-range' };
    });
    const named = shown.find(({ index }) => index === (hovered ?? selected));
    if (named) texts.push({ text: describe(named.object), spot: topOf(named.cuboid), className: 'points-name' });
    labels.replaceChildren(...texts.flatMap(({ text, spot, className }) => {
      if (!spot || Math.abs(spot[0]) > 1 || Math.abs(spot[1]) > 1) return [];
      const label = viewerElement('span', className, text);
      Object.assign(label.style, { left: `${50 + 50 * spot[0]}%`, top: `${50 - 50 * spot[1]}%` });
      return [label];
    }));
  }

  /** The middle of the upper edge of a box as it is seen, or null if a part of it is behind the camera. */
  function topOf(cuboid) {
    const spots = cuboidCorners(cuboid).map(corner => camera.project(corner));
    if (spots.includes(null)) return null;
    const x = spots.map(spot => spot[0]);
    return [(Math.min(...x) + Math.max(...x)) / 2, Math.min(0.9, Math.max(...spots.map(spot => spot[1])))];
  }

  function describe(object) {
    if (options.describe) return options.describe(object);
    return [object.outcome, object.score?.toFixed(2)].filter(Boolean).join(' ');
  }

  /** Take the colours from the page as it is now. */
  function restyle() {
    if (!gl) return;
    look = pointsLook(stage, cloud);
    drawHeightLegend(legend, cloud, look);
    gl.setLines('ground', rangeLines(cloud, forward, look.colour('ring')));
    fill();
  }

  /** Lines and faces of the shown boxes. */
  function fill() {
    if (!gl) return;
    const order = ({ object, index }) => (index === selected ? 99 : (CUBOID_STYLES[object.outcome] ?? CUBOID_STYLES.unknown).order);
    const lines = [...shown].sort((a, b) => order(a) - order(b)).flatMap(({ object, index, cuboid }) => (
      cuboidLines(cuboid, object.outcome, look.colour(object.outcome), index === selected)
    ));
    const lit = shown.find(({ index }) => index === (hovered ?? selected));
    gl.setLines('boxes', lines);
    gl.setFaces(lit ? cuboidTriangles(lit.cuboid) : [], look.colour(lit?.object.outcome));
    redraw();
  }

  /** Index in `scene.objects` of each box below a place of the window, best first. */
  function boxesAt(x, y) {
    const slack = 6 / camera.pixelsPerMetre(canvas.clientHeight);
    return cuboidsOnRay(camera.ray(x, y), shown.map(({ cuboid }) => cuboid), slack).map(place => shown[place].index);
  }

  function click(x, y) {
    const found = boxesAt(x, y);
    // A second click at the same place takes the next of the boxes that lie in one another.
    const again = clicked && Math.hypot(clicked[0] - x, clicked[1] - y) < 0.01 ? found.indexOf(selected) + 1 : 0;
    clicked = [x, y];
    const index = found.length ? found[again % found.length] : null;
    select(index);
    options.onSelect?.(index);
  }

  function hover(x, y) {
    const index = x === null ? null : boxesAt(x, y)[0] ?? null;
    canvas.style.cursor = index === null ? '' : 'pointer';
    if (index === hovered) return;
    hovered = index;
    fill();
  }

  function select(index) {
    const flies = index !== selected && index !== null;
    selected = index;
    fill();
    if (flies) flyToSelected();
  }

  function start() {
    stop();
    canvas = viewerElement('canvas');
    canvas.tabIndex = 0;
    canvas.setAttribute('role', 'application');
    canvas.addEventListener('webglcontextlost', lost);
    try {
      gl = new GLScene(canvas);
    } catch (error) {
      canvas = null;
      showImage(error.message);
      return;
    }
    gl.setPoints(cloud.xyz, cloud.step);
    stage.replaceChildren(canvas, labels, pointsButtons(), legend);
    stopSteering = steerCamera(canvas, camera, { onMove: redraw, onClick: click, onHover: hover, onHome: () => fly(views.reset) });
    resized.observe(canvas);
    name();
    restyle();
  }

  function stop() {
    if (!canvas) return;
    stopSteering();
    resized.disconnect();
    cancelAnimationFrame(frame);
    canvas.removeEventListener('webglcontextlost', lost);
    gl.release();
    [canvas, gl, frame] = [null, null, 0];
  }

  function lost(event) {
    event.preventDefault();
    stop();
    showImage('The browser has closed this 3D view.');
    stage.append(viewerButton('open the 3D view again', { text: 'open again', onClick: start }));
  }

  function showImage(reason) {
    const message = viewerElement('p', 'viewer-message', `${reason} This is the sweep from above.`);
    stage.replaceChildren(message);
    if (!scene.image) return;
    const image = viewerElement('img');
    image.src = scene.image;
    image.alt = 'the sweep from above';
    stage.prepend(image);
  }

  function pointsButtons() {
    const bar = viewerElement('div', 'points-buttons');
    const labels = { top: 'view from above', side: 'view from the side', behind: 'view from behind', reset: 'first view' };
    for (const [text, label] of Object.entries(labels)) {
      bar.append(viewerButton(label, { text, onClick: () => fly(views[text]) }));
    }
    const zoom = factor => fly({ distance: camera.within(camera.distance * factor) });
    bar.append(
      viewerButton('zoom in', { icon: 'closer', onClick: () => zoom(0.7) }),
      viewerButton('zoom out', { icon: 'farther', onClick: () => zoom(1 / 0.7) }),
    );
    return bar;
  }

  function name() {
    canvas?.setAttribute('aria-label', `3D view of ${cloud.count} points with ${shown.length} boxes. ${POINTS_KEYS}`);
  }

  function update(list, chosen = selected) {
    shown = list.filter(object => object.cuboid).map(object => {
      const [x, y, z, ...rest] = object.cuboid;
      const cuboid = [x - cloud.origin[0], y - cloud.origin[1], z - cloud.origin[2], ...rest];
      return { object, index: viewerIndex(scene, object), cuboid };
    });
    if (!shown.some(({ index }) => index === hovered)) hovered = null;
    name();
    if (chosen === selected) fill();
    else select(chosen ?? null);
  }

  const resized = new ResizeObserver(() => {
    if (!canvas?.clientWidth) return;
    const ratio = Math.min(3, devicePixelRatio);
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round(canvas.clientHeight * ratio);
    camera.aspect = canvas.width / canvas.height;
    cancelAnimationFrame(frame);
    draw(performance.now()); // at once, since a canvas of another size is empty
  });
  // Light or dark, by the system or by the page.
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', restyle, { signal: listeners.signal });
  const restyled = new MutationObserver(restyle);
  restyled.observe(document.documentElement, { attributes: true, attributeFilter: ['class', 'style', 'data-theme'] });
  element.append(stage);
  start();
  update(objects, options.selected ?? null);
  return {
    update,
    camera,
    destroy() {
      listeners.abort();
      restyled.disconnect();
      stop();
      stage.remove();
    },
  };
}
