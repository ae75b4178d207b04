export interface Index {
  readonly name: string;
  readonly key: Readonly<Record<string, 1>>;
  readonly unique: boolean;
}

/** Writes that also name a stamp are told to go by this one, as not every server sees for itself that it will do. */
export const BY_GENERATION = 'generation';

/** Every question that is asked of the collection is answered by one of these. */
export const INDEXES: readonly Index[] = [
  { name: BY_GENERATION, key: { 'data.generationId': 1 }, unique: true },
  { name: 'due', key: { name: 1, nextRunAt: 1 }, unique: false },
];
