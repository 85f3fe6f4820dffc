// Boxes of the 3D view: their edges in the style of their outcome, their faces, and which one a ray meets.

/** Lines by outcome: width in pixels, pattern, and the order of drawing, since the last is on top. */
const CUBOID_STYLES = {
  found: { width: 1.2, pattern: 'solid', order: 0 },
  hit: { width: 2, pattern: 'solid', order: 1 },
  unknown: { width: 2, pattern: 'solid', order: 1 },
  duplicate: { width: 2.4, pattern: 'dotted', order: 2 },
  localisation: { width: 2.2, pattern: 'dashdot', order: 3 },
  class: { width: 5, pattern: 'double', order: 3 },
  missed: { width: 2.4, pattern: 'dashed', order: 4 },
  background: { width: 3.2, pattern: 'solid', order: 4 },
};

/** Edges as pairs of corners; corner number = front (4) + left (2) + top (1). */
const CUBOID_EDGES = [[0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [1, 3], [4, 6], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7]];
const CUBOID_FACES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]];

/** A place in the frame of a box [x, y, z, length, width, height, yaw], in halves of its size, as a point in metres. */
function cuboidPoint([x, y, z, length, width, height, yaw], ahead, left, up) {
  const along = ahead * length / 2;
  const aside = left * width / 2;
  const [sine, cosine] = [Math.sin(yaw), Math.cos(yaw)];
  return [x + along * cosine - aside * sine, y + along * sine + aside * cosine, z + up * height / 2];
}

function cuboidCorners(cuboid) {
  return Array.from({ length: 8 }, (_, i) => cuboidPoint(cuboid, i & 4 ? 1 : -1, i & 2 ? 1 : -1, i & 1 ? 1 : -1));
}

/** Lines of a box for `GLScene.setLines`: its edges, and an arrow on the ground out of its front. */
function cuboidLines(cuboid, outcome, colour, selected) {
  const style = CUBOID_STYLES[outcome] ?? CUBOID_STYLES.unknown;
  const width = style.width + (selected ? 1.5 : 0);
  const corners = cuboidCorners(cuboid);
  const lines = CUBOID_EDGES.map(([a, b]) => ({ from: corners[a], to: corners[b], colour, width, pattern: style.pattern }));
  const reach = 1 + 2 * Math.min(1.2, 0.35 * cuboid[3] + 0.2) / cuboid[3];
  const tip = cuboidPoint(cuboid, reach, 0, -1);
  const arrow = { colour, width: Math.min(width, 2.4), pattern: 'solid' };
  lines.push(
    { from: cuboidPoint(cuboid, 1, 0, -1), to: tip, ...arrow },
    { from: corners[4], to: tip, ...arrow },
    { from: corners[6], to: tip, ...arrow },
  );
  return lines;
}

/** Corners of the triangles of a box, as numbers. */
function cuboidTriangles(cuboid) {
  const corners = cuboidCorners(cuboid);
  return CUBOID_FACES.flatMap(([a, b, c, d]) => [a, b, c, a, c, d]).flatMap(corner => corners[corner]);
}

/** Where a ray enters a box that is larger by `margin` metres on every side, in lengths of its direction, or null. */
function rayMeetsCuboid([start, direction], cuboid, margin) {
  const [x, y, z, length, width, height, yaw] = cuboid;
  const [sine, cosine] = [Math.sin(yaw), Math.cos(yaw)];
  const turned = ([a, b, c]) => [a * cosine + b * sine, b * cosine - a * sine, c];
  const from = turned([start[0] - x, start[1] - y, start[2] - z]);
  const along = turned(direction);
  let [enters, leaves] = [0, Infinity];
  for (const [i, size] of [length, width, height].entries()) {
    const half = size / 2 + margin;
    const [a, b] = [(-half - from[i]) / along[i], (half - from[i]) / along[i]];
    enters = Math.max(enters, Math.min(a, b));
    leaves = Math.min(leaves, Math.max(a, b));
  }
  return enters <= leaves ? enters : null;
}

/**
 * Places in `cuboids` of the boxes that a ray meets, best first. The smaller of two boxes in one another comes first,
 * since the other could not be left for it; `slack` is the margin in metres at a distance of one metre.
 */
function cuboidsOnRay(ray, cuboids, slack) {
  const met = [];
  cuboids.forEach((cuboid, place) => {
    const distance = Math.hypot(...ray[0].map((value, i) => value - cuboid[i]));
    const enters = rayMeetsCuboid(ray, cuboid, slack * distance);
    if (enters !== null) met.push({ place, enters, size: cuboid[3] * cuboid[4] * cuboid[5] });
  });
  const near = Math.min(...met.map(({ enters }) => enters)) + 3;
  const rank = ({ enters, size }) => (enters < near ? size : 1e9 + enters);
  return met.sort((a, b) => rank(a) - rank(b)).map(({ place }) => place);
}
