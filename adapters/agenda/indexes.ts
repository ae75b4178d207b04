export interface Index {
  readonly name: string;
  readonly key: Readonly<Record<string, 1>>;
  readonly unique: boolean;
}

/** Writes that also name a stamp get this index as a hint, as not every server chooses it by itself. */
export const BY_GENERATION = 'generation';

/** Every query of the collection uses one of these. */
export const INDEXES: readonly Index[] = [
  { name: BY_GENERATION, key: { 'data.generationId': 1 }, unique: true },
  { name: 'due', key: { name: 1, nextRunAt: 1 }, unique: false },
];
