// Shaders of the 3D view: points coloured by height, lines of any width with dash patterns, translucent faces.

/** Dash patterns of lines, by the number that the shader knows them by. */
const LINE_PATTERNS = { solid: 0, dashed: 1, dotted: 2, dashdot: 3, double: 4 };

/**
 * The ends of the colours of height, as lightness, chroma and hue (degrees) in OKLCH. Between them hue and lightness
 * change at constant speed, away from the ground's, so that what stands up stands out, for colour-blind readers too.
 */
const HEIGHT_RAMPS = {
  dark: [[0.45, 0.08, 265], [0.93, 0.11, 100]],
  light: [[0.79, 0.05, 245], [0.36, 0.1, 150]],
};

const POINT_VERTEX_SHADER = `#version 300 es
layout(location = 0) in vec3 place;
uniform mat4 view;
uniform float metresPerUnit;
uniform vec2 heights;
uniform vec3 rampLow, rampHigh;
uniform float pixelsPerMetre, ratio;
out vec3 colour;

vec3 fromOklch(vec3 lch) {
  float a = lch.y * cos(radians(lch.z)), b = lch.y * sin(radians(lch.z));
  vec3 lms = lch.x + vec3(0.3963377774, -0.1055613458, -0.0894841775) * a
                   + vec3(0.2158037573, -0.0638541728, -1.2914855480) * b;
  vec3 linear = clamp(mat3(4.0767416621, -1.2684380046, -0.0041960863,
                           -3.3077115913, 2.6097574011, -0.7034186147,
                           0.2309699292, -0.3413193965, 1.7076147010) * (lms * lms * lms), 0.0, 1.0);
  return mix(12.92 * linear, 1.055 * pow(linear, vec3(1.0 / 2.4)) - 0.055, step(0.0031308, linear));
}

void main() {
  vec3 metres = place * metresPerUnit;
  gl_Position = view * vec4(metres, 1.0);
  gl_PointSize = clamp(0.09 * pixelsPerMetre / gl_Position.w, 1.7 * ratio, 6.0 * ratio);
  float high = clamp((metres.z - heights.x) / (heights.y - heights.x), 0.0, 1.0);
  colour = fromOklch(mix(rampLow, rampHigh, high));
}`;

const POINT_FRAGMENT_SHADER = `#version 300 es
precision highp float;
in vec3 colour;
out vec4 pixel;
void main() {
  if (length(gl_PointCoord - 0.5) > 0.5) discard;
  pixel = vec4(colour, 1.0);
}`;

// WebGL draws lines of one pixel only, so each is a quadrilateral, made on the screen: its width and its dashes are in
// pixels. What is behind the camera is cut off first.
const LINE_VERTEX_SHADER = `#version 300 es
layout(location = 0) in vec3 start;
layout(location = 1) in vec3 stop;
layout(location = 2) in vec4 paint;
layout(location = 3) in vec2 style;
uniform mat4 view;
uniform vec2 viewport;
uniform float ratio, nearest, rim;
out vec4 colour;
out float across, along;
flat out float halfWidth, pattern;

void main() {
  vec4 a = view * vec4(start, 1.0), b = view * vec4(stop, 1.0);
  if (a.w < nearest && b.w < nearest) {
    gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
    return;
  }
  if (a.w < nearest) a = mix(a, b, (nearest - a.w) / (b.w - a.w));
  if (b.w < nearest) b = mix(b, a, (nearest - b.w) / (a.w - b.w));
  vec2 from = a.xy / a.w * viewport * 0.5, to = b.xy / b.w * viewport * 0.5;
  float size = length(to - from);
  vec2 ahead = size > 0.001 ? (to - from) / size : vec2(1.0, 0.0);
  float end = float(gl_VertexID & 1), side = float(gl_VertexID >> 1) * 2.0 - 1.0;
  // Far boxes are small: thinner lines and shorter dashes leave something of their shape.
  float far = clamp(60.0 / mix(a.w, b.w, 0.5), 0.6, 1.0);
  halfWidth = max(style.x * far, 1.0) * ratio * 0.5;
  across = side * (halfWidth + rim * ratio + 1.0);
  along = end * size / (ratio * far);
  vec2 spot = mix(from, to, end) + vec2(-ahead.y, ahead.x) * across + ahead * (end * 2.0 - 1.0) * halfWidth * 0.7;
  // A little nearer than it is, or the points on a box would hide its edges.
  float depth = mix(a.z / a.w, b.z / b.w, end) - 0.3 * nearest / (end < 0.5 ? a.w * a.w : b.w * b.w);
  gl_Position = vec4(spot / viewport * 2.0, depth, 1.0);
  colour = paint;
  pattern = style.y;
}`;

const LINE_FRAGMENT_SHADER = `#version 300 es
precision highp float;
in vec4 colour;
in float across, along;
flat in float halfWidth, pattern;
uniform float opacity, ratio, rim;
uniform vec3 rimColour;
out vec4 pixel;

bool gap(float at) {
  if (pattern == 1.0) return mod(at, 10.0) > 6.0;
  if (pattern == 2.0) return mod(at, 5.0) > 2.2;
  if (pattern == 3.0) return mod(at, 15.0) > 8.0 && mod(at, 15.0) < 10.5 || mod(at, 15.0) > 12.5;
  return pattern == 4.0 && abs(across) < halfWidth * 0.34;
}

void main() {
  float inked = gap(along) ? 0.0 : colour.a * clamp(halfWidth + 0.5 - abs(across), 0.0, 1.0);
  float rimmed = rim > 0.0 ? 0.75 * clamp(halfWidth + rim * ratio + 0.5 - abs(across), 0.0, 1.0) : 0.0;
  pixel = opacity * (vec4(colour.rgb, 1.0) * inked + vec4(rimColour, 1.0) * rimmed * (1.0 - inked));
}`;

const FACE_VERTEX_SHADER = `#version 300 es
layout(location = 0) in vec3 place;
uniform mat4 view;
void main() {
  gl_Position = view * vec4(place, 1.0);
}`;

const FACE_FRAGMENT_SHADER = `#version 300 es
precision highp float;
uniform vec4 paint;
out vec4 pixel;
void main() {
  pixel = vec4(paint.rgb * paint.a, paint.a);
}`;
