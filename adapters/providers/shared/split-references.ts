import type { ProviderReference } from '../../../core/ports/provider.js';
import { splitMasked, type MaskedPicture, type MaskForm, type Splitting } from './masked-reference.js';
import { inputRefusal } from './sentences.js';

/** Splits a masked reference. Throws as `splitMasked` does. */
export type Split = (reference: ProviderReference, form: MaskForm) => Promise<MaskedPicture>;

/** Does the work, which may split references and ends when its request was sent, and then frees the disk of the pictures. */
export async function withSplits<Result>(
  splitting: Splitting,
  work: (split: Split) => Promise<Result>,
): Promise<Result> {
  const pictures: MaskedPicture[] = [];
  try {
    return await work(async (reference, form) => {
      const picture = await splitMasked(reference, form, splitting);
      pictures.push(picture);
      return picture;
    });
  } finally {
    for (const picture of pictures) await picture.close();
  }
}

/** The masked references before all others, as a server applies a mask to the first picture. */
export function maskedFirst(references: readonly ProviderReference[]): readonly ProviderReference[] {
  return [...references.filter(isMasked), ...references.filter((one) => !isMasked(one))];
}

/**
 * The refusal of a task with masks that the model does not take. Core refuses such files before; the settings may have
 * changed since.
 */
export function maskRefusal(references: readonly ProviderReference[], maxMasked: number) {
  const masked = references.filter(isMasked);
  const other = masked.find(({ role }) => role !== 'reference_image');
  if (other !== undefined) return inputRefusal(`A ${other.role} must not have transparent areas.`);
  if (masked.length <= maxMasked) return undefined;
  return inputRefusal(
    maxMasked === 0
      ? 'The model takes no file with transparent areas.'
      : `The model takes at most ${maxMasked} file${maxMasked === 1 ? '' : 's'} with transparent areas.`,
  );
}

function isMasked(reference: ProviderReference): boolean {
  return reference.isMasked === true;
}
