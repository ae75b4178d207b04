import type { AiMark } from '../../../core/media/ai-mark.js';
import type { CleanOptions } from '../../../core/ports/media-cleaner.js';
import { xmpPacket } from '../xmp-packet.js';

/** What was written for the mark, by its place in the output, and what the file had there. */
export interface Patch {
  readonly at: number;
  readonly writtenBytes: number;
  readonly had: Uint8Array;
}

/** The options of a second pass, with what the first one knows. */
export interface SecondPass extends CleanOptions {
  readonly isSecond: true;
  /** What `restore` undoes. */
  readonly patches?: readonly Patch[];
}

/** The values of a digital source type that say AI: a manifest has them as plain bytes, unless it is compressed. */
const SAYS_AI = ['trainedAlgorithmicMedia', 'compositeWithTrainedAlgorithmicMedia'];
const MAX_VALUE_BYTES = Math.max(...SAYS_AI.map((value) => value.length));

/**
 * What one pass over a file has found. A manifest stays while nothing of the file had to change, in place of the mark. What
 * the stream shows later may make that wrong; then the result needs a second pass.
 */
export class CleaningPass {
  /** The mark's XMP packet; undefined where no mark is to be written. */
  readonly packet: Buffer | undefined;
  readonly isSecond: boolean;
  /** Whether the provider's file was changed, apart from the mark. */
  hasChanged = false;
  /** Whether the output has the mark. */
  isMarked = false;
  /** Set where a mark was written into a file that turned out to have it. */
  isMarkedTwice = false;
  /** Set where a mark was begun in a file whose structure turned out to be none. */
  isUnreadable = false;
  readonly patches: Patch[] = [];
  readonly #mark: { readonly mark?: AiMark };
  readonly #keepsManifests: boolean;
  #hasManifest = false;
  #saysAi = false;
  /** The last bytes of the manifest so far: a value may lie across two pieces. */
  #tail = '';

  constructor({ mark, manifests, ...others }: CleanOptions) {
    this.#mark = mark === undefined ? {} : { mark };
    this.packet = mark === undefined ? undefined : xmpPacket(mark);
    this.#keepsManifests = manifests === 'keep';
    this.isSecond = 'isSecond' in others;
  }

  /** Whether the mark is to be written, at its place. */
  get writesMark(): boolean {
    return this.packet !== undefined && !this.isMarked && !this.#hasManifest;
  }

  /** Whether a manifest that begins here stays. */
  keepsManifest(): boolean {
    const isKept = this.#keepsManifests && !this.hasChanged;
    if (isKept) this.#hasManifest = true;
    return isKept;
  }

  /** The same, in a format of which a file has one manifest at most: readers take none of two for valid. */
  keepsOnlyManifest(): boolean {
    return !this.#hasManifest && this.keepsManifest();
  }

  /** Takes the next bytes of a manifest that is kept. */
  scanManifest(bytes: Buffer): void {
    if (this.#saysAi) return;
    const seam = this.#tail + bytes.toString('latin1', 0, MAX_VALUE_BYTES);
    this.#saysAi = SAYS_AI.some((value) => seam.includes(value) || bytes.includes(value, 0, 'latin1'));
    this.#tail = (this.#tail + bytes.subarray(-MAX_VALUE_BYTES).toString('latin1')).slice(-MAX_VALUE_BYTES);
  }

  /** Takes a mark as it is that the file has at its place. A manifest beside it would not be alone. */
  adoptMark(): void {
    this.isMarked = true;
    this.hasChanged = true;
  }

  /** With which options the output is to be cleaned once more. */
  secondPass(): SecondPass | undefined {
    if (this.isSecond) return undefined;
    const drop: SecondPass = { ...this.#mark, manifests: 'drop', isSecond: true };
    const restore: SecondPass = { ...drop, manifests: 'restore', patches: this.patches };
    if (this.isUnreadable) return restore;
    if (!this.#hasManifest) return this.isMarkedTwice ? restore : undefined;
    if (this.hasChanged || !this.#saysAi) return drop;
    return this.patches.length === 0 ? undefined : restore;
  }
}
