// A camera that turns about a point above the ground: turn, pan, zoom, fly, and the ray through a pixel. Metres, z up.

const CAMERA_LOWEST = -0.12; // a little below the horizon, radians
const CAMERA_HIGHEST = Math.PI / 2;
const CAMERA_FLIGHT_MS = 380;

class OrbitCamera {
  constructor() {
    this.target = [0, 0, 0];
    this.distance = 60;
    this.azimuth = Math.PI; // where the camera stands, seen from the target: 0 is +x
    this.elevation = 0.5;
    this.tangent = Math.tan(Math.PI / 8); // of half the vertical field of view
    this.nearest = 0.3;
    this.limits = [2, 400];
    this.aspect = 1; // width / height of the window
    this.flight = null;
  }

  /** Unit vectors to the right, up and back of the camera. */
  axes() {
    const [sa, ca, se, ce] = [Math.sin(this.azimuth), Math.cos(this.azimuth), Math.sin(this.elevation), Math.cos(this.elevation)];
    return [[-sa, ca, 0], [-se * ca, -se * sa, ce], [ce * ca, ce * sa, se]];
  }

  eye() {
    const back = this.axes()[2];
    return this.target.map((value, i) => value + this.distance * back[i]);
  }

  /** Projection times view, by columns. */
  matrix() {
    const [right, up, back] = this.axes();
    const eye = this.eye();
    const farthest = this.distance + 1500;
    const depth = (farthest + this.nearest) / (this.nearest - farthest);
    const offset = 2 * farthest * this.nearest / (this.nearest - farthest);
    const dot = axis => -(axis[0] * eye[0] + axis[1] * eye[1] + axis[2] * eye[2]);
    const [x, y] = this.scales();
    const columns = [0, 1, 2].map(i => [right[i] * x, up[i] * y, back[i] * depth, -back[i]]);
    return new Float32Array([...columns.flat(), dot(right) * x, dot(up) * y, dot(back) * depth + offset, -dot(back)]);
  }

  /** Of a narrow window the width decides about the field of view, so that a phone shows as much. */
  scales() {
    const tangent = this.tangent / Math.min(1, this.aspect);
    return [1 / (tangent * this.aspect), 1 / tangent];
  }

  /** Size in pixels of a metre at a distance of one metre, in a window of this height. */
  pixelsPerMetre(height) {
    return height * this.scales()[1] / 2;
  }

  /** The ray through a place of the window, x to the right and y up in -1..1: [start, direction]. */
  ray(x, y) {
    const [right, up, back] = this.axes();
    const [sx, sy] = this.scales();
    return [this.eye(), back.map((value, i) => right[i] * x / sx + up[i] * y / sy - value)];
  }

  /** Where a point in metres is in the window: [x, y] in -1..1, or null behind the camera. */
  project(point) {
    const m = this.matrix();
    const clip = row => m[row] * point[0] + m[row + 4] * point[1] + m[row + 8] * point[2] + m[row + 12];
    const w = clip(3);
    return w < this.nearest ? null : [clip(0) / w, clip(1) / w];
  }

  turn(azimuth, elevation) {
    this.flight = null;
    this.azimuth += azimuth;
    this.elevation = Math.min(CAMERA_HIGHEST, Math.max(CAMERA_LOWEST, this.elevation + elevation));
  }

  /** Drag the ground by these shares of the window's height, to the right and up. */
  pan(x, y) {
    this.flight = null;
    const size = 2 * this.distance / this.scales()[1];
    const [right] = this.axes();
    const ahead = [-Math.cos(this.azimuth), -Math.sin(this.azimuth)];
    // Seen from low down the ground is foreshortened, and a drag would throw it away.
    const along = y * size / Math.max(0.35, Math.sin(this.elevation));
    this.target[0] -= right[0] * x * size + ahead[0] * along;
    this.target[1] -= right[1] * x * size + ahead[1] * along;
  }

  /** Change the distance by a factor, keeping the ground below the window's place (x, y) where it is. */
  zoom(factor, x = 0, y = 0) {
    this.flight = null;
    const distance = this.within(this.distance * factor);
    const share = distance / this.distance;
    const [eye, direction] = this.ray(x, y);
    const reach = (this.target[2] - eye[2]) / direction[2];
    if ((x || y) && reach > 0 && reach < 4 * this.distance) {
      for (const i of [0, 1]) {
        const kept = eye[i] + reach * direction[i];
        this.target[i] = kept + (this.target[i] - kept) * share;
      }
    }
    this.distance = distance;
  }

  /** The nearest distance that is allowed. */
  within(distance) {
    return Math.min(this.limits[1], Math.max(this.limits[0], distance));
  }

  /** Go to `{target, distance, azimuth, elevation}`; at once, or smoothly while `step` is called. */
  fly(goal, now, smoothly) {
    const start = { target: [...this.target], distance: this.distance, azimuth: this.azimuth, elevation: this.elevation };
    const end = { ...start, ...goal };
    // The shorter way round.
    end.azimuth = start.azimuth + Math.atan2(Math.sin(end.azimuth - start.azimuth), Math.cos(end.azimuth - start.azimuth));
    this.flight = { start, end, began: now };
    if (!smoothly) this.step(Infinity);
  }

  /** Go on with a flight; returns whether there is more to come. */
  step(now) {
    if (!this.flight) return false;
    const { start, end, began } = this.flight;
    const share = Math.min(1, Math.max(0, (now - began) / CAMERA_FLIGHT_MS));
    const eased = share * share * (3 - 2 * share);
    const between = (a, b) => a + (b - a) * eased;
    this.target = start.target.map((value, i) => between(value, end.target[i]));
    this.distance = start.distance * (end.distance / start.distance) ** eased;
    this.azimuth = between(start.azimuth, end.azimuth);
    this.elevation = between(start.elevation, end.elevation);
    if (share === 1) this.flight = null;
    return this.flight !== null;
  }
}
