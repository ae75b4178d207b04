import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { PreparedHistogram } from './prepared-histogram.js';

type Collect = () => void | Promise<void>;

/** Makes the metrics of one registry. `collect` is called at every scrape, before the metric is read. */
export function instrumentsOf(registry: Registry) {
  const of = <L extends string>(name: string, help: string, labelNames: readonly L[], collect?: Collect) => ({
    name,
    help,
    labelNames,
    registers: [registry],
    ...(collect && { collect }),
  });
  return {
    counter: <L extends string = never>(name: string, help: string, labels: readonly L[] = [], collect?: Collect) =>
      new Counter<L>(of(name, help, labels, collect)),
    gauge: <L extends string = never>(name: string, help: string, labels: readonly L[] = [], collect?: Collect) =>
      new Gauge<L>(of(name, help, labels, collect)),
    histogram: <L extends string = never>(name: string, help: string, buckets: number[], labels: readonly L[] = []) =>
      new Histogram<L>({ ...of(name, help, labels), buckets }),
    preparedHistogram: <L extends string>(name: string, help: string, buckets: number[], labels: readonly L[]) =>
      new PreparedHistogram<L>({ ...of(name, help, labels), buckets }),
  };
}

export type Instruments = ReturnType<typeof instrumentsOf>;
