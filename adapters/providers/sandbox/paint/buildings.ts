import { hex, mix, scale, type Color } from './color.js';
import { fillGlow, fillShape } from './fill.js';
import type { Frame } from './frame.js';
import { crestY, type Hill } from './land.js';
import { polygon, roundedBox } from './shape.js';

/** Where the house stands: away from the sun, so that its lit side is seen. */
export function houseX({ scene, width }: Frame): number {
  return width * (scene.lightX < 0.5 ? 0.67 : 0.33);
}

/** A small house on a hill, its windows lit when it is dark, smoke over its chimney. */
export function paintHouse(frame: Frame, hill: Hill): void {
  const { canvas, scene, unit, seconds } = frame;
  const side = scene.lightX < 0.5 ? 1 : -1;
  const x = houseX(frame);
  const y = crestY(frame, hill, x) + unit * 0.015;
  const dim = 0.42 + 0.58 * scene.palette.brightness;
  const wall = scene.elements.get('house') ?? hex('e8dcc6');
  const light = { color: scene.palette.light, from: side > 0 ? ('left' as const) : ('right' as const), strength: 0.3 };
  const half = unit * 0.085;
  const eaves = y - unit * 0.09;
  const ridge = eaves - unit * 0.075;
  const roof = mix(hex('6d3b35'), scene.palette.near, 0.3);
  for (let puff = 0; puff < 8; puff += 1) {
    const age = (puff / 8 + seconds * 0.12) % 1;
    fillGlow(
      canvas,
      x + half * 0.55 + age * unit * 0.07 + Math.sin(age * 7 + puff) * unit * 0.006,
      ridge - unit * (0.02 + age * 0.15),
      unit * (0.018 + age * 0.04),
      [0.9, 0.9, 0.95],
      0.3 * (1 - age),
    );
  }
  fillShape(canvas, roundedBox(x + half * 0.44, ridge - unit * 0.02, x + half * 0.66, eaves, 0), {
    top: scale(roof, dim),
  });
  fillShape(canvas, roundedBox(x - half, eaves, x + half, y + unit * 0.01, unit * 0.002), {
    top: scale(wall, dim),
    bottom: scale(wall, dim * 0.75),
    light,
  });
  fillShape(
    canvas,
    polygon(
      [
        [x - half * 1.17, eaves + unit * 0.004],
        [x - half * 0.72, ridge],
        [x + half * 0.72, ridge],
        [x + half * 1.17, eaves + unit * 0.004],
      ],
      unit * 0.002,
    ),
    {
      top: scale(roof, dim * 1.25),
      bottom: scale(roof, dim * 0.85),
      light,
    },
  );
  const isDark = scene.palette.brightness < 0.7;
  const pane = isDark ? hex('ffd987') : hex('5b7386');
  for (const shift of [-0.62, 0.38]) {
    const left = x + half * shift;
    fillShape(canvas, roundedBox(left, eaves + unit * 0.026, left + unit * 0.026, eaves + unit * 0.055, unit * 0.001), {
      top: pane,
      bottom: scale(pane, 0.9),
    });
    fillShape(
      canvas,
      roundedBox(left + unit * 0.012, eaves + unit * 0.026, left + unit * 0.014, eaves + unit * 0.055, 0),
      { top: scale(wall, dim * 0.6) },
    );
    if (isDark) fillGlow(canvas, left + unit * 0.013, eaves + unit * 0.04, unit * 0.085, hex('ffc766'), 0.4);
  }
  fillShape(
    canvas,
    roundedBox(x - unit * 0.014, eaves + unit * 0.034, x + unit * 0.014, y + unit * 0.01, unit * 0.002),
    { top: scale(roof, dim * 0.9) },
  );
}

/** Rows of towers along the horizon, the far ones pale. */
export function paintCity({ canvas, scene, width, unit, horizonY, seconds }: Frame): void {
  const isDark = scene.palette.brightness < 0.7;
  const own = scene.elements.get('city');
  for (let row = 0; row < 3; row += 1) {
    const random = scene.random.fork(`city ${row}`);
    const near = row / 2;
    const base = mix(
      mix(scene.palette.sky.at(-1)!, scene.palette.far, 0.65),
      own ?? mix(scene.palette.near, scene.palette.far, 0.2),
      near,
    );
    for (let x = -unit * 0.05; x < width;) {
      const wide = unit * random.between(0.045, 0.1);
      const center = 1 - Math.abs((x + wide / 2) / width - 0.5) * 1.3;
      const top = horizonY - unit * (0.06 + random.next() ** 1.6 * 0.42 * center) * (1.05 - 0.3 * near);
      fillShape(canvas, roundedBox(x, top, x + wide, horizonY + 1, 0), {
        top: scale(base, 1.1),
        bottom: mix(base, scene.palette.sky.at(-1)!, 0.3),
      });
      if (random.chance(0.25))
        fillShape(canvas, roundedBox(x + wide * 0.47, top - unit * 0.06, x + wide * 0.53, top, 0), { top: base });
      paintWindows(
        canvas,
        { x, top, wide, bottom: horizonY, step: unit * 0.0145 },
        isDark ? hex('ffdf94') : mix(base, [1, 1, 1], 0.28),
        isDark ? 0.35 + 0.4 * near : 0.4,
        random,
        seconds,
      );
      x += wide * random.between(0.95, 1.25);
    }
  }
}

interface Tower {
  readonly x: number;
  readonly top: number;
  readonly wide: number;
  readonly bottom: number;
  readonly step: number;
}

function paintWindows(
  canvas: Frame['canvas'],
  tower: Tower,
  color: Color,
  alpha: number,
  random: Frame['scene']['random'],
  seconds: number,
): void {
  const { step } = tower;
  for (let y = tower.top + step; y < tower.bottom - step; y += step * 1.3) {
    for (let x = tower.x + step * 0.6; x < tower.x + tower.wide - step * 0.9; x += step) {
      const lit = random.next();
      const blink = random.next();
      if (lit > 0.5 || (blink > 0.96 && Math.floor(seconds * 1.5 + blink * 60) % 3 === 0)) continue;
      fillShape(canvas, roundedBox(x, y, x + step * 0.45, y + step * 0.65, 0), { top: color, alpha });
    }
  }
}
