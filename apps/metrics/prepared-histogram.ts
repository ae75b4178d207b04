import { Histogram, type HistogramConfiguration, type LabelValues } from 'prom-client';

interface Series<Label extends string> {
  readonly labels: LabelValues<Label>;
  /** One per bucket, and one for values above them all. */
  readonly counts: number[];
  sum: number;
}

/**
 * A histogram that gets its labels once and then only adds, for values counted with every call: the library looks the
 * labels up each time, which costs more than all the rest of counting. A set of labels is shown once something was
 * observed.
 */
export class PreparedHistogram<Label extends string> extends Histogram<Label> {
  private readonly bounds: readonly number[];
  private readonly prepared: Series<Label>[] = [];

  constructor(private readonly configuration: HistogramConfiguration<Label> & { readonly buckets: number[] }) {
    super(configuration);
    this.bounds = configuration.buckets;
  }

  /** Returns a function that observes under these labels. Call it once per set of labels. */
  prepare(labels: LabelValues<Label>): (value: number) => void {
    const { bounds } = this;
    const series = { labels, counts: Array.from({ length: bounds.length + 1 }, () => 0), sum: 0 };
    this.prepared.push(series);
    return (value) => {
      let bucket = 0;
      while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket += 1;
      series.counts[bucket] = (series.counts[bucket] as number) + 1;
      series.sum += value;
    };
  }

  /** The registry reads a histogram by this method; `get` of the library is made from it, too. */
  async getForPromString(): Promise<object> {
    const { name, help, aggregator } = this.configuration;
    return {
      name,
      help,
      type: 'histogram',
      aggregator,
      values: this.prepared.flatMap((series) => this.rowsOf(series)),
    };
  }

  private rowsOf({ labels, counts, sum }: Series<Label>): object[] {
    const { name } = this.configuration;
    let count = 0;
    const buckets = [...this.bounds, '+Inf'].map((le, index) => {
      count += counts[index] as number;
      return { metricName: `${name}_bucket`, labels: { le }, sharedLabels: labels, value: count };
    });
    if (count === 0) return [];
    const total = (suffix: string, value: number) => ({
      metricName: name + suffix,
      labels: {},
      sharedLabels: labels,
      value,
    });
    return [...buckets, total('_sum', sum), total('_count', count)];
  }
}
