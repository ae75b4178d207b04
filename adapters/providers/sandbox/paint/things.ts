import { hex, mix, scale, smoothstep } from './color.js';
import { fillShape } from './fill.js';
import type { Frame } from './frame.js';
import { crestY, type Hill } from './land.js';
import { noise } from './noise.js';
import { circle, polygon, roundedBox, type Point } from './shape.js';

/** A sailing boat on the water line, rocking. */
export function paintBoat({ canvas, scene, width, unit, horizonY, seconds, progress }: Frame): void {
  const side = scene.lightX < 0.5 ? 1 : -1;
  const hasTower = scene.elements.has('lighthouse');
  const x = width * (0.5 + (hasTower ? -0.12 : 0.14) * side - side * 0.05 * progress);
  const tilt = Math.sin(seconds * 1.7) * 0.05;
  const y = horizonY - unit * 0.004;
  const size = unit * (hasTower ? 0.11 : 0.17);
  const at = (right: number, up: number): Point => [x + (right - up * tilt) * size, y - (up + right * tilt) * size];
  const dim = 0.5 + 0.5 * scene.palette.brightness;
  const hull = scene.elements.get('boat') ?? hex('7a3b32');
  const light = { color: scene.palette.light, from: side > 0 ? ('left' as const) : ('right' as const), strength: 0.3 };
  fillShape(canvas, polygon([at(-0.02, 0.1), at(-0.02, 1.12), at(0.01, 1.12), at(0.01, 0.1)]), {
    top: scale(hex('4a3a30'), dim),
  });
  fillShape(canvas, polygon([at(-0.04, 0.2), at(-0.04, 1.06), at(-0.28, 0.55), at(-0.5, 0.22)]), {
    top: scale(hex('fbf3e2'), dim),
    bottom: scale(hex('e3cfae'), dim),
    light,
  });
  fillShape(canvas, polygon([at(0.03, 0.2), at(0.03, 0.95), at(0.25, 0.5), at(0.38, 0.2)]), {
    top: scale(hex('f5e7cd'), dim),
    bottom: scale(hex('d3ba96'), dim),
    light,
  });
  fillShape(canvas, polygon([at(-0.56, 0.16), at(0.56, 0.17), at(0.36, -0.03), at(-0.38, -0.03)], size * 0.015), {
    top: scale(hull, dim),
    bottom: scale(hull, dim * 0.55),
    light,
  });
}

export function paintBirds({ canvas, scene, width, unit, horizonY, seconds }: Frame): void {
  const random = scene.random.fork('birds');
  const centerX = width * random.between(0.35, 0.65);
  const centerY = horizonY * random.between(0.3, 0.5);
  const color = scene.elements.get('bird') ?? mix(scene.palette.near, scene.palette.far, 0.25);
  for (let bird = 0; bird < 7; bird += 1) {
    const x = centerX + random.between(-0.16, 0.16) * unit + seconds * unit * 0.03;
    const y = centerY + random.between(-0.07, 0.07) * unit;
    const size = unit * random.between(0.011, 0.022);
    const lift = 0.45 + 0.4 * Math.sin(seconds * random.between(5, 7) + bird * 2);
    const wing = (side: number): Point[] => [
      [x, y + size * 0.12],
      [x + side * size * 0.5, y - size * lift],
      [x + side * size * 1.1, y - size * lift * 0.55],
      [x + side * size * 0.5, y - size * (lift - 0.22)],
      [x, y + size * 0.3],
    ];
    for (const side of [-1, 1]) fillShape(canvas, polygon(wing(side)), { top: color, alpha: 0.85 });
  }
}

/** Two rows of dunes, each with a lit and a shaded flank. */
export function paintDunes(frame: Frame): void {
  const { canvas, scene, width, height, unit, horizonY } = frame;
  const sand = mix(
    [0, 0, 0],
    mix(scene.elements.get('desert') ?? hex('e3a868'), scene.palette.sky.at(-1)!, 0.2),
    0.3 + 0.7 * scene.palette.brightness,
  );
  for (let row = 0; row < 4; row += 1) {
    const seed = scene.random.fork(`dune ${row}`).seed;
    const near = row / 3;
    const level = horizonY + (height - horizonY) * near * 0.62 - unit * 0.02;
    const color = mix(mix(sand, scene.palette.sky.at(-1)!, 0.45), sand, near);
    for (let x = 0; x < width; x += 1) {
      const across = (x - width / 2) / unit + 60;
      const crest =
        level -
        unit * (0.06 + 0.06 * near) * (1 - Math.abs(2 * noise(across * (1.9 - near * 0.6), row, seed) - 1)) ** 1.4;
      for (let y = Math.max(0, Math.floor(crest)); y < height; y += 1) {
        const down = (y - crest) / unit;
        const flank = noise(across * (1.9 - near * 0.6) + down * 1.4 * (scene.lightX > 0.5 ? 1 : -1), row, seed);
        const ripple = noise(across * 6, (y / unit) * (120 - 60 * near) + Math.sin(across * 9) * 2, seed) - 0.5;
        const shade = 0.72 + 0.4 * smoothstep(0.35, 0.65, flank) + ripple * 0.05 - Math.min(0.2, down * 0.5);
        canvas.blend(x, y, scale(color, shade), Math.min(1, y + 1 - crest));
      }
    }
  }
}

export function paintFlowers(frame: Frame, hill: Hill): void {
  const { canvas, scene, width, height, unit, seconds } = frame;
  const random = scene.random.fork('flowers');
  const own = scene.elements.get('flower');
  const dim = 0.45 + 0.55 * scene.palette.brightness;
  for (let flower = 0; flower < 240; flower += 1) {
    const depth = (flower + random.next()) / 240;
    const x = random.next() * width;
    const crest = crestY(frame, hill, x);
    const size = unit * (0.004 + 0.011 * depth);
    const y = crest + (height - crest) * depth ** 1.3;
    const color = scale(
      own ?? random.pick([hex('e4483f'), hex('f2b632'), hex('f3f0e6'), hex('c96bc4')]),
      dim * random.between(0.8, 1.1),
    );
    const sway = Math.sin(seconds * 1.8 + x * 0.03) * size * 0.5;
    fillShape(canvas, roundedBox(x - size * 0.1, y, x + size * 0.1, y + size * 3, 0), {
      top: scale(hill.top, 1.3),
      bottom: scale(hill.top, 0.7),
    });
    for (let petal = 0; petal < 5; petal += 1) {
      const angle = petal * 1.2566 + flower;
      fillShape(
        canvas,
        circle(x + sway + Math.cos(angle) * size * 0.6, y + Math.sin(angle) * size * 0.45, size * 0.55),
        { top: scale(color, 1.1), bottom: scale(color, 0.8) },
      );
    }
    fillShape(canvas, circle(x + sway, y, size * 0.3), { top: scale(hex('f7d354'), dim) });
  }
}
