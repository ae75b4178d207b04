import type { MessageInitShape } from '@bufbuild/protobuf';
import type { FieldMask } from '@bufbuild/protobuf/wkt';
import type { Context } from '../../core/context.js';
import { fieldInvalid } from '../../core/fields.js';
import type { Generation } from '../../core/generation/generation.js';
import { viewGeneration } from '../../core/generation/view.js';
import { GenerationSchema } from './generated/darkroom/v1/generations_pb.js';
import { renderGeneration } from './render/generation.js';

type Shown = MessageInitShape<typeof GenerationSchema>;

/** The fields of a generation that a caller asked for, by the names they have in messages here. */
export type Mask = ReadonlySet<string> | undefined;

/** All fields when absent. Throws FIELD_INVALID for a path that is no field of a generation. */
export function readMask(mask: FieldMask | undefined): Mask {
  if (mask === undefined || mask.paths.length === 0 || mask.paths.includes('*')) return undefined;
  return new Set(
    mask.paths.map((path) => {
      const field = GenerationSchema.fields.find(({ name }) => name === path);
      if (!field)
        throw fieldInvalid(
          '/read_mask',
          `read_mask must hold names of fields of a generation; ${JSON.stringify(path.slice(0, 60))} is none.`,
        );
      return field.localName;
    }),
  );
}

/** Addresses are signed only where they are asked for. */
export async function showGeneration(context: Context, generation: Generation, mask: Mask): Promise<Shown> {
  if (mask === undefined || mask.has('outputs'))
    return masked(renderGeneration(await viewGeneration(context, generation)), mask);
  return masked(renderGeneration(await viewGeneration(context, { ...generation, outputs: [] })), mask);
}

function masked(shown: Shown, mask: Mask): Shown {
  if (mask === undefined) return shown;
  return Object.fromEntries(Object.entries(shown).filter(([name]) => mask.has(name)));
}
