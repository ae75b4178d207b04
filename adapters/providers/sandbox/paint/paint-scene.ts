import type { Size } from '../plan.js';
import { type Canvas, mix, scale, smoothstep } from './canvas.js';
import { paintFigures } from './figures.js';
import { paintHill, paintMountains, paintWater } from './land.js';
import { frameOf, type Frame, type Scene } from './scene.js';
import { paintSky, paintWeather } from './sky.js';
import { paintBirds, paintBoat, paintCity, paintFlowers, paintHouse, paintLighthouse, paintTrees } from './things.js';

/**
 * Paints one moment of a scene, back to front: `seconds` since the first frame, `progress` from 0 at the first frame to 1 at
 * the last. `backdrop` is a reference picture of the same size, to paint the scene in front of.
 */
export function paintScene(scene: Scene, size: Size, seconds = 0, progress = 0, backdrop?: Canvas): Canvas {
  const frame = frameOf(scene, size, seconds, progress);
  const { canvas, elements, isStill } = frame;
  paintSky(frame);
  if (
    !isStill &&
    (elements.has('mountain') || elements.has('hill') || !(elements.has('city') || elements.has('desert')))
  )
    paintMountains(frame);
  if (backdrop !== undefined) canvas.blendCanvas(backdrop, () => 0.82);
  if (elements.has('city')) paintCity(frame);
  if (elements.has('bird')) paintBirds(frame);
  if (elements.has('lighthouse')) paintLighthouse(frame);
  if (elements.has('boat')) paintBoat(frame);
  paintFigures(frame);
  if (!isStill) {
    paintGround(frame);
    paintWeather(frame);
  }
  // Darker corners.
  canvas.eachPixel({}, (x, y) => {
    const corner = ((x / size.widthPx - 0.5) ** 2 + (y / size.heightPx - 0.5) ** 2) * 2;
    canvas.blend(x, y, [0, 0, 0.02], 0.34 * smoothstep(0.3, 1.1, corner));
  });
  return canvas;
}

/** Dunes, water up to a beach or a dark strip of shore, or rolling hills; the farthest first and palest. */
function paintGround(frame: Frame): void {
  const { elements, random, horizon, palette } = frame;
  const { brightness, near, far, light, mist } = palette;
  const isDune = elements.has('desert');
  const kind = isDune ? 'desert' : !elements.has('sea') ? 'hill' : elements.has('beach') ? 'beach' : 'sea';
  if (kind === 'beach' || kind === 'sea') paintWater(frame);
  const sand = scale(elements.get(kind) ?? [0.95, 0.76, 0.51], 0.3 + 0.7 * brightness);
  const grass = mix(near, mix(elements.get('hill') ?? [0.36, 0.55, 0.27], light, 0.12), 0.14 + 0.8 * brightness);
  const snow = mix(far, [0.93, 0.96, 1], 0.15 + 0.7 * brightness);
  const front = {
    desert: sand,
    beach: sand,
    sea: scale(near, 0.85),
    hill: elements.has('snow') ? snow : mix(near, grass, 0.65),
  }[kind];
  const rows = { desert: 4, hill: 3, beach: 1, sea: 1 }[kind];
  const start = { desert: horizon - 0.03, hill: horizon - 0.045, beach: 0.86, sea: 0.93 }[kind];
  const roll = elements.has('city') ? 0.02 : 0.045;
  for (let row = 0; row < rows; row += 1) {
    const color = mix(front, isDune ? mist : far, (0.6 * (rows - 1 - row)) / rows);
    const hill = { seed: random.fork(`${kind} ${row}`).seed, level: start + row * 0.105, roll, color, isDune };
    const isMiddle = row === Math.floor(rows / 2);
    paintHill(frame, hill);
    if (elements.has('house') && isMiddle) paintHouse(frame, hill);
    if (elements.has('tree') && kind !== 'beach') paintTrees(frame, hill, kind === 'sea' ? 2 : row);
    if (elements.has('flower') && row === rows - 1) paintFlowers(frame, hill);
  }
}
