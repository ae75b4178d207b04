import type { ProviderReference } from '../../../core/ports/provider.js';
import type { SettingsPlace } from '../../driver.js';
import type { BodyFile } from '../../http/http-request.js';
import {
  type MaskedPicture,
  type MaskForm,
  splitMasked,
  type Splitting,
  withAlphaChannel,
} from './masked-reference.js';
import { inputRefusal } from './sentences.js';

/** Makes the files that are sent for the masked references of a submission. */
export interface Splits {
  /** The colours and the mask. Throws as `splitMasked`. */
  split(reference: ProviderReference, form: MaskForm): Promise<Pick<MaskedPicture, 'colours' | 'mask'>>;
  /** The picture for a model that reads its transparency. Throws as `withAlphaChannel`. */
  withAlpha(reference: ProviderReference): Promise<BodyFile>;
}

/** Does the work, which may split references and ends when its request was sent, and then frees the disk of the pictures. */
export async function withSplits<Result>(
  splitting: Splitting,
  work: (splits: Splits) => Promise<Result>,
): Promise<Result> {
  const made: Pick<MaskedPicture, 'close'>[] = [];
  const kept = <Made extends Pick<MaskedPicture, 'close'>>(one: Made): Made => {
    made.push(one);
    return one;
  };
  try {
    return await work({
      split: async (reference, form) => kept(await splitMasked(reference, form, splitting)),
      withAlpha: async (reference) => kept(await withAlphaChannel(reference, splitting)).picture,
    });
  } finally {
    for (const { close } of made) await close();
  }
}

/** The masked references before all others, as a server applies a mask to the first picture. */
export function maskedFirst(references: readonly ProviderReference[]): readonly ProviderReference[] {
  return [...references.filter(isMasked), ...references.filter((one) => !isMasked(one))];
}

/**
 * The refusal of a task with masks that the model does not take, or without one that it needs. Core refuses both before; the
 * settings may have changed since.
 */
export function maskRefusal(references: readonly ProviderReference[], maxMasked: number, isNeeded = false) {
  const masked = references.filter(isMasked);
  const other = masked.find(({ role }) => role !== 'reference_image');
  if (other !== undefined) return inputRefusal(`A ${other.role} must not have transparent areas.`);
  if (isNeeded && masked.length === 0) return inputRefusal(MASK_NEEDED);
  if (masked.length <= maxMasked) return undefined;
  return inputRefusal(
    maxMasked === 0
      ? 'The model takes no file with transparent areas.'
      : `The model takes at most ${maxMasked} file${maxMasked === 1 ? '' : 's'} with transparent areas.`,
  );
}

/** The sentence about a task without the mask that its model needs. */
export const MASK_NEEDED = 'The model needs a reference image with transparent areas.';

/** The fault of a setting `mask` that says `required: true`, where requests may come without the file that has the mask. */
export function requiredMaskFault({ requiredRoles }: Pick<SettingsPlace, 'requiredRoles'>): string | undefined {
  return requiredRoles.includes('reference_image')
    ? undefined
    : 'mask.required is true, so required_roles of the model must have reference_image: such a file has the mask.';
}

function isMasked(reference: ProviderReference): boolean {
  return reference.isMasked === true;
}
