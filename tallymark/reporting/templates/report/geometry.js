// What a reviewer draws, by geometry: the gesture, the shape in the challenge's own coordinates, and its outline.
const GEOMETRIES = {
  boxes: {
    gesture: 'drag',
    hint: 'Drag a box around the missed one.',
    accepts: shape => isNumbers(shape, 4) && shape[2] > 0 && shape[3] > 0,
    shapeOf: (scene, from, to) => boxBetween(scene, from, to).map(value => Number(value.toFixed(2))),
    pathOf: (scene, [x, y, w, h]) => outline(scene, [[x, y], [x + w, y], [x + w, y + h], [x, y + h]]),
  },
  masks: {
    gesture: 'drag',
    hint: 'Drag a box around the missed one; it becomes a rectangular mask.',
    accepts: runs => typeof runs === 'string' && /^\d+ \d+( \d+ \d+)*$/.test(runs),
    shapeOf: (scene, from, to) => rectangleRuns(boxBetween(scene, from, to), itemSize(scene)),
    pathOf(scene, runs) {
      const [x, y, w, h] = boxOfRuns(numbersOf(runs), itemSize(scene)[1]);
      return outline(scene, [[x, y], [x + w, y], [x + w, y + h], [x, y + h]]);
    },
  },
  events: {
    gesture: 'click',
    hint: 'Click the time of the missed one.',
    accepts: shape => isNumbers(shape, 1),
    shapeOf: (scene, from, to) => [Number(toItem(scene, to)[0].toFixed(3))],
    pathOf(scene, [time]) {
      const x = toPixels(scene, [time, toItem(scene, [0, 0])[1]])[0].toFixed(1);
      return `M${x} 0V${scene.height}`;
    },
  },
  cuboids: {
    gesture: 'click',
    hint: 'Click the middle of the missed one; it gets the size and heading of the nearest of its class.',
    accepts: shape => isNumbers(shape, 7),
    shapeOf(scene, from, to, label) {
      const [x, y] = toItem(scene, to);
      const [, , z, w, l, h, yaw] = nearestCuboid(scene, x, y, label);
      return [x, y, z, w, l, h, yaw].map(value => Number(value.toFixed(3)));
    },
    pathOf(scene, [x, y, , w, l, , yaw]) {
      const [cos, sin] = [Math.cos(yaw) / 2, Math.sin(yaw) / 2];
      const corner = (a, b) => [x + a * l * cos - b * w * sin, y + a * l * sin + b * w * cos];
      return outline(scene, [corner(1, 1), corner(1, -1), corner(-1, -1), corner(-1, 1)]);
    },
  },
};
const DEFAULT_CUBOID = [0, 0, 0, 1.9, 4.7, 1.7, 0];

function toItem(scene, [px, py]) {
  const [a, b, c, d, e, f] = scene.toItem;
  return [a * px + c * py + e, b * px + d * py + f];
}

function toPixels(scene, [x, y]) {
  const [a, b, c, d, e, f] = scene.toItem;
  const size = a * d - b * c;
  return [(d * (x - e) - c * (y - f)) / size, (a * (y - f) - b * (x - e)) / size];
}

function outline(scene, corners) {
  return `M${corners.map(corner => toPixels(scene, corner).map(value => value.toFixed(1)).join(' ')).join('L')}Z`;
}

function isNumbers(shape, count) {
  return Array.isArray(shape) && shape.length === count && shape.every(Number.isFinite);
}

function numbersOf(shape) {
  return Array.isArray(shape) ? shape : String(shape).trim().split(/\s+/).map(Number);
}

// Width and height of the item in its own pixels.
function itemSize(scene) {
  return toItem(scene, [scene.width, scene.height]).map(Math.round);
}

// x, y, width and height of the box between two points of the picture, cut at its borders.
function boxBetween(scene, from, to) {
  const within = (value, most) => Math.min(most, Math.max(0, value));
  const [a, b] = [from, to].map(([x, y]) => toItem(scene, [within(x, scene.width), within(y, scene.height)]));
  return [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.abs(a[0] - b[0]), Math.abs(a[1] - b[1])];
}

// A rectangle as run lengths down the columns, counted from 1.
function rectangleRuns([x, y, w, h], [width, height]) {
  const [left, top] = [Math.floor(x), Math.floor(y)];
  const [right, bottom] = [Math.min(width, Math.ceil(x + w)), Math.min(height, Math.ceil(y + h))];
  if (top === 0 && bottom === height) return `${left * height + 1} ${(right - left) * height}`;
  const columns = Array.from({length: right - left}, (_, at) => `${(left + at) * height + top + 1} ${bottom - top}`);
  return columns.join(' ');
}

function boxOfRuns(runs, height) {
  let [left, top, right, bottom] = [Infinity, Infinity, 0, 0];
  for (let at = 0; at + 1 < runs.length; at += 2) {
    const [first, last] = [runs[at] - 1, runs[at] + runs[at + 1] - 2];
    const whole = Math.floor(first / height) !== Math.floor(last / height);
    left = Math.min(left, Math.floor(first / height));
    right = Math.max(right, Math.floor(last / height) + 1);
    top = whole ? 0 : Math.min(top, first % height);
    bottom = whole ? height : Math.max(bottom, last % height + 1);
  }
  return [left, top, right - left, bottom - top];
}

// The nearest cuboid of the class in the scene, else of the class on the page, else any.
function nearestCuboid(scene, x, y, label) {
  const here = scene.objects;
  const everywhere = data.scenes.flatMap(one => one.objects);
  const ofClass = objects => objects.filter(one => one.label === label);
  const choices = [ofClass(here), ofClass(everywhere), here, everywhere].find(objects => objects.length > 0) || [];
  const shapes = choices.map(object => numbersOf(object.shape));
  const distance = shape => Math.hypot(shape[0] - x, shape[1] - y);
  return shapes.sort((a, b) => distance(a) - distance(b))[0] ?? DEFAULT_CUBOID;
}
