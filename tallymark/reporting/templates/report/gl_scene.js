// Draws points, lines and one highlighted box with WebGL2. It knows metres and colours, and nothing of objects.

const LINE_BYTES = 36; // start and stop as 6 floats, 4 bytes of colour, width and pattern as 2 floats

class GLScene {
  /** Throws if the browser has no WebGL2. */
  constructor(canvas) {
    // No multisampling: round points and lines smooth themselves.
    const gl = canvas.getContext('webgl2', { alpha: true, antialias: false, powerPreference: 'low-power' });
    if (!gl) throw new Error('This browser has no WebGL2.');
    this.gl = gl;
    this.programs = {
      points: new GLProgram(gl, POINT_VERTEX_SHADER, POINT_FRAGMENT_SHADER),
      lines: new GLProgram(gl, LINE_VERTEX_SHADER, LINE_FRAGMENT_SHADER),
      faces: new GLProgram(gl, FACE_VERTEX_SHADER, FACE_FRAGMENT_SHADER),
    };
    this.layers = {};
  }

  /** Points as whole numbers of `step` metres from the scene's origin. */
  setPoints(xyz, step) {
    this.step = step;
    this.layers.points = this.layer('points', new Int16Array(xyz), xyz.length / 3, gl => {
      gl.enableVertexAttribArray(0);
      gl.vertexAttribPointer(0, 3, gl.SHORT, false, 6, 0);
    });
  }

  /** Lines of the layer `name`, as `{from, to, colour: [r, g, b, a] in bytes, width in pixels, pattern}`. */
  setLines(name, lines) {
    const bytes = new ArrayBuffer(lines.length * LINE_BYTES);
    const view = new DataView(bytes);
    lines.forEach(({ from, to, colour, width, pattern }, row) => {
      const at = row * LINE_BYTES;
      [...from, ...to].forEach((value, i) => view.setFloat32(at + 4 * i, value, true));
      colour.forEach((value, i) => view.setUint8(at + 24 + i, value));
      view.setFloat32(at + 28, width, true);
      view.setFloat32(at + 32, LINE_PATTERNS[pattern], true);
    });
    this.layers[name] = this.layer(name, bytes, lines.length, gl => {
      const columns = [[0, 3, gl.FLOAT, false, 0], [1, 3, gl.FLOAT, false, 12], [2, 4, gl.UNSIGNED_BYTE, true, 24],
        [3, 2, gl.FLOAT, false, 28]];
      for (const [location, size, type, normalised, offset] of columns) {
        gl.enableVertexAttribArray(location);
        gl.vertexAttribPointer(location, size, type, normalised, LINE_BYTES, offset);
        gl.vertexAttribDivisor(location, 1);
      }
    });
  }

  /** Triangles of the highlighted box, three numbers for each corner, and its colour in bytes. */
  setFaces(corners, colour) {
    this.faceColour = colour;
    this.layers.faces = this.layer('faces', new Float32Array(corners), corners.length / 3, gl => {
      gl.enableVertexAttribArray(0);
      gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 12, 0);
    });
  }

  layer(name, data, count, describe) {
    const { gl } = this;
    const old = this.layers[name];
    const layer = old ?? { array: gl.createVertexArray(), buffer: gl.createBuffer() };
    gl.bindVertexArray(layer.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, layer.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    describe(gl);
    gl.bindVertexArray(null);
    return Object.assign(layer, { count });
  }

  /** One frame with a look as `pointsLook` gives it; `ratio` is pixels per CSS pixel. */
  draw(camera, ratio, look) {
    const { gl } = this;
    const { width, height } = gl.canvas;
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.depthMask(true);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.disable(gl.BLEND);
    const view = camera.matrix();
    this.programs.points.use({
      view, ratio, metresPerUnit: this.step, heights: look.heights, rampLow: look.ramp[0], rampHigh: look.ramp[1],
      pixelsPerMetre: camera.pixelsPerMetre(height),
    });
    this.run('points', count => gl.drawArrays(gl.POINTS, 0, count));
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(false);
    const lines = { view, ratio, viewport: [width, height], nearest: camera.nearest, rimColour: look.ground };
    this.strokes('ground', { ...lines, opacity: 1, rim: 0 });
    if (this.faceColour) {
      this.programs.faces.use({ view, paint: [...this.faceColour.slice(0, 3).map(byte => byte / 255), 0.16] });
      this.run('faces', count => gl.drawArrays(gl.TRIANGLES, 0, count));
    }
    // What the points hide of a box is drawn faintly, so that a box is never lost.
    gl.depthFunc(gl.GREATER);
    this.strokes('boxes', { ...lines, opacity: 0.35, rim: 0 });
    gl.depthFunc(gl.LEQUAL);
    this.strokes('boxes', { ...lines, opacity: 1, rim: 1.2 });
  }

  strokes(name, uniforms) {
    this.programs.lines.use(uniforms);
    this.run(name, count => this.gl.drawArraysInstanced(this.gl.TRIANGLE_STRIP, 0, 4, count));
  }

  run(name, drawArrays) {
    const layer = this.layers[name];
    if (!layer?.count) return;
    this.gl.bindVertexArray(layer.array);
    drawArrays(layer.count);
    this.gl.bindVertexArray(null);
  }

  /** Give the context back: a browser allows about 16 of them. */
  release() {
    this.gl.getExtension('WEBGL_lose_context')?.loseContext();
  }
}

class GLProgram {
  constructor(gl, vertex, fragment) {
    this.gl = gl;
    this.program = gl.createProgram();
    for (const [type, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(this.program, shader);
      gl.deleteShader(shader);
    }
    gl.linkProgram(this.program);
    if (!gl.getProgramParameter(this.program, gl.LINK_STATUS) && !gl.isContextLost()) {
      const logs = gl.getAttachedShaders(this.program).map(shader => gl.getShaderInfoLog(shader));
      throw new Error([...logs, gl.getProgramInfoLog(this.program)].join('\n').trim());
    }
    this.uniforms = new Map();
  }

  /** Use it with these uniforms: a number, or as many as the vector or matrix has. */
  use(values) {
    const { gl } = this;
    gl.useProgram(this.program);
    for (const [name, value] of Object.entries(values)) {
      if (!this.uniforms.has(name)) this.uniforms.set(name, gl.getUniformLocation(this.program, name));
      const location = this.uniforms.get(name);
      const numbers = [value].flat();
      if (value.length === 16) gl.uniformMatrix4fv(location, false, value);
      else gl[`uniform${numbers.length}f`](location, ...numbers);
    }
  }
}
