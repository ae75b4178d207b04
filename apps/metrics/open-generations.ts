import type { Model } from '../../core/catalog/model.js';
import { OPEN_STATES } from '../../core/generation/generation.js';
import type { Ports } from '../../core/ports/ports.js';
import type { OpenCount } from '../../core/ports/stores.js';
import type { Instruments } from './instruments.js';

/** How long a count is reused, in milliseconds. The database counts at most once per period for each process. */
export const KEPT_MS = 5_000;
/** A scrape waits this long for a count, in milliseconds, and then omits it. Few scrapers wait less than five seconds. */
const TIMEOUT_MS = 3_000;

/** The provider label of a generation without an attempt whose model has several providers. */
const ANY = 'any';
/** A model or a provider that the catalog no longer has: its name must not become a label. */
const WITHDRAWN = 'withdrawn';

type Watched = Pick<Ports, 'generations' | 'catalog' | 'clock'>;

/**
 * The generations of all processes that have not ended, as the database counts them, so that each process reports the
 * same. There is a series for each model of the catalog, provider of its route and state, and no other but `withdrawn`.
 * When the database does not answer, there are no counts rather than earlier ones.
 */
export function openGenerations({ gauge }: Instruments) {
  let counts: SharedCounts | undefined;
  const labels = ['model', 'provider', 'state'] as const;
  const open = gauge(
    'darkroom_open_generations',
    'Generations of all processes that have not ended, read from the database. queued: never started, waits for a worker, a slot of its model, or a provider that is paused or at its limit. requeued: started, waits for its next attempt or another worker. running: a worker has it.',
    labels,
    async () => {
      const series = await counts?.series();
      open.reset();
      for (const { generations, ...one } of series ?? []) open.set(labelsOf(one), generations);
    },
  );
  const oldest = gauge(
    'darkroom_open_generations_oldest_age_seconds',
    'Time since the oldest of these generations was accepted; 0 if there is none.',
    labels,
    async () => {
      const series = await counts?.series();
      oldest.reset();
      for (const { ageMs, ...one } of series ?? []) oldest.set(labelsOf(one), ageMs / 1_000);
    },
  );
  const up = gauge(
    'darkroom_open_generations_up',
    '1 if the database answered with the counts of open generations; 0 if it did not, and there are none.',
    [],
    async () => {
      const series = await counts?.series();
      up.set(series === undefined ? 0 : 1);
    },
  );
  const concurrency = gauge(
    'darkroom_model_concurrency',
    'Generations of the model that one worker runs at once, from the catalog.',
    ['model'],
    () => {
      concurrency.reset();
      for (const { modelKey, concurrency: most } of counts?.models() ?? []) concurrency.set({ model: modelKey }, most);
    },
  );
  return {
    /** Counted at every scrape from now on. */
    watch: (ports: Watched): void => void (counts = new SharedCounts(ports)),
  };
}

interface Series extends Pick<OpenCount, 'state' | 'generations'> {
  readonly model: string;
  readonly provider: string;
  readonly ageMs: number;
}

function labelsOf({ model, provider, state }: Pick<Series, 'model' | 'provider' | 'state'>) {
  return { model, provider, state };
}

/** One reading for all metrics and scrapes within `KEPT_MS`. */
class SharedCounts {
  private startedAt = -Infinity;
  private isCounting = false;
  private answer: Promise<readonly OpenCount[] | undefined> = Promise.resolve(undefined);

  constructor(private readonly ports: Watched) {}

  models(): readonly Model[] {
    return this.ports.catalog.models();
  }

  /** Undefined when the database does not answer. */
  async series(): Promise<readonly Series[] | undefined> {
    const counted = await this.counted();
    return counted && seriesOf(this.models(), counted, this.ports.clock.now());
  }

  private counted(): Promise<readonly OpenCount[] | undefined> {
    const { generations, clock } = this.ports;
    // A count that takes long is not joined by another one.
    if (this.isCounting || clock.monotonic() - this.startedAt < KEPT_MS) return this.answer;
    this.startedAt = clock.monotonic();
    this.isCounting = true;
    let cancel: () => void = () => undefined;
    const late = new Promise<undefined>((resolve) => {
      cancel = clock.after(TIMEOUT_MS, () => resolve(undefined));
    });
    const counting = generations.countOpen().finally(() => {
      this.isCounting = false;
      cancel();
    });
    this.answer = Promise.race([counting, late]).catch(() => undefined);
    return this.answer;
  }
}

/** A series for each model, its providers and states, with 0 where nothing is counted. */
function seriesOf(models: readonly Model[], counts: readonly OpenCount[], now: number): readonly Series[] {
  const places = new Map(models.map(({ modelKey, route }) => [modelKey, placeOf(route)]));
  const providers = new Set(models.flatMap(({ route }) => route.map(({ provider }) => provider)));
  const series = new Map<string, Series>();
  const add = (one: Series): void => {
    const name = JSON.stringify(labelsOf(one));
    const { generations = 0, ageMs = 0 } = series.get(name) ?? {};
    series.set(name, { ...one, generations: generations + one.generations, ageMs: Math.max(ageMs, one.ageMs) });
  };
  for (const { modelKey: model, route } of models) {
    for (const state of OPEN_STATES) {
      const attempted = state === 'queued' ? [] : route.map(({ provider }) => provider);
      for (const provider of new Set([placeOf(route), ...attempted]))
        add({ model, provider, state, generations: 0, ageMs: 0 });
    }
  }
  for (const { modelKey, provider, state, generations, oldestCreatedAt } of counts) {
    const place = places.get(modelKey);
    add({
      model: place === undefined ? WITHDRAWN : modelKey,
      provider: provider === undefined ? (place ?? ANY) : providers.has(provider) ? provider : WITHDRAWN,
      state,
      generations,
      // Two machines may have set the two times.
      ageMs: Math.max(0, now - oldestCreatedAt),
    });
  }
  return [...series.values()];
}

/** The provider of a generation without an attempt. */
function placeOf([first, second]: Model['route']): string {
  return first === undefined || second !== undefined ? ANY : first.provider;
}
