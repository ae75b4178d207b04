import { Canvas, mix, scale, smoothstep } from './canvas.js';
import { paintFigures, paintStudio } from './figures.js';
import { paintDunes, paintHill, paintMountains, paintWater, type Hill } from './land.js';
import { paintFlowers, paintTrees } from './plants.js';
import { lattice } from './random.js';
import type { Frame, Scene } from './scene.js';
import { paintSky, paintWeather } from './sky.js';
import { paintBirds, paintBoat, paintCity, paintHouse, paintLighthouse } from './things.js';

export interface Moment extends Pick<Frame, 'seconds' | 'progress'> {
  readonly widthPx: number;
  readonly heightPx: number;
  /** A reference picture of the same size, to paint the scene in front of. */
  readonly backdrop?: Canvas | undefined;
}

/** Paints one moment of a scene, back to front. */
export function paintScene(scene: Scene, { widthPx: width, heightPx: height, backdrop, ...time }: Moment): Canvas {
  const canvas = new Canvas(width, height, { color: scene.palette.light, side: scene.side });
  // The sun climbs at dawn, sinks in the evening, and otherwise hardly moves.
  const climb = { dawn: -0.09, day: -0.03, golden: 0.09, dusk: 0.09, night: -0.03 }[scene.time];
  const frame: Frame = {
    ...scene,
    ...time,
    canvas,
    width,
    height,
    unit: Math.min(width, height),
    horizonY: Math.round(scene.horizon * height),
    sunX: (scene.lightX + 0.03 * time.progress) * width,
    sunY: (scene.lightY + climb * time.progress) * height,
  };
  if (scene.kind === 'still life') {
    paintStudio(frame);
    if (backdrop !== undefined) canvas.blendCanvas(backdrop, () => 0.8);
    paintFigures(frame);
  } else paintLandscape(frame, backdrop);
  finish(frame);
  return canvas;
}

function paintLandscape(frame: Frame, backdrop: Canvas | undefined): void {
  const { canvas, elements } = frame;
  paintSky(frame);
  if (elements.has('mountain') || elements.has('hill') || (!elements.has('city') && !elements.has('desert')))
    paintMountains(frame);
  if (backdrop !== undefined) canvas.blendCanvas(backdrop, () => 0.82);
  if (elements.has('city')) paintCity(frame);
  if (elements.has('bird')) paintBirds(frame);
  if (elements.has('lighthouse')) paintLighthouse(frame);
  if (elements.has('boat')) paintBoat(frame);
  if (frame.figures.length > 0) paintFigures(frame);
  if (elements.has('desert')) paintDunes(frame);
  else if (elements.has('sea')) paintShore(frame);
  else paintFields(frame);
  paintWeather(frame);
}

/** Water up to a beach or a dark strip of shore in front. */
function paintShore(frame: Frame): void {
  paintWater(frame);
  const { elements, palette, random } = frame;
  if (elements.has('beach')) {
    const sand = scale(elements.get('beach') ?? [0.9, 0.79, 0.6], 0.28 + 0.72 * palette.brightness);
    paintHill(frame, { seed: random.fork('beach').seed, level: 0.86, roll: 0.035, color: scale(sand, 0.95) });
    return;
  }
  const shore = { seed: random.fork('shore').seed, level: 0.93, roll: 0.05, color: scale(palette.near, 0.85) };
  paintHill(frame, shore);
  if (elements.has('house')) paintHouse(frame, { ...shore, level: 0.88 });
  if (elements.has('tree')) paintTrees(frame, shore, elements.has('lighthouse') ? 6 : 14, 0.24);
  if (elements.has('flower')) paintFlowers(frame, shore);
}

/** Three rolling hills; nearer hills are greener. */
function paintFields(frame: Frame): void {
  const { elements, random, horizon, palette } = frame;
  const { brightness, near, far, light } = palette;
  const snow = mix(far, [0.93, 0.96, 1], 0.15 + 0.7 * brightness);
  const green = mix(near, mix(elements.get('hill') ?? [0.36, 0.55, 0.27], light, 0.12), 0.14 + 0.8 * brightness);
  const lit = elements.has('snow') ? snow : mix(scale(near, 1.1), green, 0.6);
  for (let row = 0; row < 3; row += 1) {
    const { seed } = random.fork(`hill ${row}`);
    const roll = elements.has('city') ? 0.02 : 0.045;
    const hill: Hill = { seed, level: horizon - 0.045 + row * 0.115, roll, color: mix(far, lit, 0.45 + 0.275 * row) };
    paintHill(frame, hill);
    if (row === 1 && elements.has('house')) paintHouse(frame, hill);
    if (elements.has('tree')) paintTrees(frame, hill, row === 2 ? 14 : 26 - row * 8, 0.09 + 0.085 * row);
    if (row === 2 && elements.has('flower')) paintFlowers(frame, hill);
  }
}

/** Darkens the corners and adds a trace of grain. */
function finish({ canvas, width, height }: Frame): void {
  canvas.eachPixel({}, (x, y) => {
    const corner = ((x / width - 0.5) ** 2 + (y / height - 0.5) ** 2) * 2;
    canvas.blend(x, y, [0, 0, 0.02], 0.34 * smoothstep(0.3, 1.1, corner));
    const grain = lattice(x, y, 77);
    canvas.blend(x, y, [grain, grain, grain], 0.022);
  });
}
