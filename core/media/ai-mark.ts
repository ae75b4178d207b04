/**
 * How media came into being, in the words of IPTC's vocabulary of digital source types: made by a trained model; made from
 * existing media by one; made by an algorithm without training.
 */
export const DIGITAL_SOURCE_TYPES = [
  'trainedAlgorithmicMedia',
  'compositeWithTrainedAlgorithmicMedia',
  'algorithmicMedia',
] as const;
export type DigitalSourceType = (typeof DIGITAL_SOURCE_TYPES)[number];

/** The content of the machine-readable mark in an output. It has no time and no id: equal inputs give equal bytes. */
export interface AiMark {
  readonly sourceType: DigitalSourceType;
  /** The public name of the system that made it, and its version; at most `MAX_SYSTEM_CHARACTERS` characters each. */
  readonly system?: string;
  readonly systemVersion?: string;
}

export const MAX_SYSTEM_CHARACTERS = 200;

/**
 * The most bytes by which a mark makes a file longer. They do not count against `maxOutputBytes`. Each character of a name
 * takes six bytes at most, as an entity of XML.
 */
export const MAX_MARK_BYTES = 1_024 + 2 * 6 * MAX_SYSTEM_CHARACTERS;

/** The operator's settings for the marks of all outputs. */
export interface MarkPolicy {
  /** Whether outputs get a mark. */
  readonly isWritten: boolean;
  /** Whether a provider's C2PA manifest is kept if the file does not change otherwise and the manifest declares AI. */
  readonly manifests: 'keep' | 'drop';
  /** Whether a mark names the model by its public name, where the model's entry names no system. */
  readonly namesModel: boolean;
}

export const DEFAULT_MARK_POLICY: MarkPolicy = { isWritten: true, manifests: 'keep', namesModel: false };

/** The part of a model's catalog entry about the mark of its outputs. */
export interface ModelMark {
  /** `by-references`: a composite where the task had reference files. `none`: the model's outputs get no mark. */
  readonly source: DigitalSourceType | 'by-references' | 'none';
  readonly system?: string;
  readonly systemVersion?: string;
}

/** The mark of the outputs of a generation; undefined where they get none. */
export function markOf(
  policy: MarkPolicy,
  { mark, displayName }: { readonly mark?: ModelMark; readonly displayName: string },
  { references }: { readonly references: readonly unknown[] },
): AiMark | undefined {
  const { source = 'by-references', system = policy.namesModel ? displayName : undefined, systemVersion } = mark ?? {};
  if (!policy.isWritten || source === 'none') return undefined;
  const byReferences = references.length > 0 ? 'compositeWithTrainedAlgorithmicMedia' : 'trainedAlgorithmicMedia';
  return {
    sourceType: source === 'by-references' ? byReferences : source,
    ...(system === undefined ? {} : { system }),
    ...(systemVersion === undefined ? {} : { systemVersion }),
  };
}
