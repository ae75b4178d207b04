import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';

export interface PlottedSeries {
  readonly name: string;
  /** The variable of the style sheet that has its colour. */
  readonly color: string;
  readonly values: readonly number[];
}

interface BarPlotProps {
  /** One name per bar. */
  readonly names: readonly string[];
  /** The largest series first: later ones are drawn over earlier ones. */
  readonly series: readonly PlottedSeries[];
}

const HEIGHT_PX = 240;
/** The approximate width of a label of the axis. */
const LABEL_PX = 84;
const MAX_LABEL = 14;
const STEPS = [1, 2, 5, 7, 14, 30, 60, 90, 180, 365];

/** Bars over names. A table beside the plot contains the same data, and screen readers receive only the table. */
export function BarPlot({ names, series }: BarPlotProps) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    let plot: uPlot | undefined;
    const draw = (): void => {
      plot?.destroy();
      plot = new uPlot(
        optionsOf(element, names, series),
        [names.map((_, index) => index), ...series.map(valuesOf)],
        element,
      );
    };
    const dark = window.matchMedia('(prefers-color-scheme: dark)');
    const resizing = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    draw();
    resizing.observe(element);
    dark.addEventListener('change', draw);
    return () => {
      resizing.disconnect();
      dark.removeEventListener('change', draw);
      plot?.destroy();
    };
  }, [names, series]);
  return <div class="plot" ref={place} aria-hidden="true" />;
}

function valuesOf({ values }: PlottedSeries): number[] {
  return [...values];
}

function optionsOf(element: HTMLElement, names: readonly string[], series: readonly PlottedSeries[]): uPlot.Options {
  const style = getComputedStyle(element);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const nameAt = (index: number | null): string => (index === null ? '' : (names[index] ?? ''));
  const axis = {
    stroke: color('--pico-muted-color'),
    font: '12px system-ui, sans-serif',
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
  };
  const bars = uPlot.paths.bars?.({ size: [0.7, 48], radius: 0.15 });
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    cursor: { drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: { time: false, range: [-0.6, names.length - 0.4] },
      y: { range: (_, __, max) => [0, Math.max(1, max * 1.05)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: LABEL_PX,
        incrs: STEPS,
        values: (_, splits) => splits.map((at) => (Number.isInteger(at) ? shortened(nameAt(at)) : '')),
      },
      { ...axis, size: 56, values: (_, splits) => splits.map((at) => (Number.isInteger(at) ? shortNumber(at) : '')) },
    ],
    series: [
      { label: 'At', value: (_, at) => nameAt(at) || '–' },
      ...series.map(({ name, color: variable }) => ({
        label: name,
        stroke: color(variable),
        fill: color(variable),
        width: 0,
        points: { show: false },
        value: (_: uPlot, value: number | null) => (value === null ? '–' : value.toLocaleString()),
        ...(bars === undefined ? {} : { paths: bars }),
      })),
    ],
  };
}

function shortened(name: string): string {
  return name.length > MAX_LABEL ? `${name.slice(0, MAX_LABEL - 1)}…` : name;
}

const compact = new Intl.NumberFormat(undefined, { notation: 'compact' });

function shortNumber(value: number): string {
  return compact.format(value);
}
