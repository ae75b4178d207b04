import { useEffect, useRef, useState } from 'preact/hooks';
import { numberText } from '../format.js';
import { say } from './toasts.js';

export interface Series {
  readonly name: string;
  /** The class that has its colour. */
  readonly look: 'series-1' | 'series-2' | 'series-ok' | 'series-fail' | 'series-none';
}

export interface Bar {
  /** Below the bar, where there is room. */
  readonly name: string;
  /** In the tooltip; the name where absent. */
  readonly title?: string;
  /** One value of at least 0 per series, from the bottom up. */
  readonly values: readonly number[];
}

interface PlotProps {
  /** What the plot shows, such as "Credits by day". A table of the page has the same numbers. */
  readonly label: string;
  readonly series: readonly Series[];
  readonly bars: readonly Bar[];
  /** The total of a bar with its unit, such as "5 credits". */
  readonly text?: (total: number) => string;
  readonly heightPx?: number;
}

const LEFT = 44;
const BOTTOM = 22;
const TOP = 8;
/** The least width for the name of a bar. */
const NAME_PX = 72;
const MAX_BAR_PX = 44;

/** Stacked bars. The pointer, or the arrow keys, show the values of one bar. */
export function Plot({ label, series, bars, text = numberText, heightPx = 220 }: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [at, setAt] = useState<number>();
  useEffect(() => {
    if (place.current === null) return;
    const resizing = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    resizing.observe(place.current);
    return () => resizing.disconnect();
  }, []);
  const top = niceMaximum(Math.max(0, ...bars.map(totalOf)));
  const step = bars.length === 0 ? 0 : Math.max(0, width - LEFT) / bars.length;
  const base = heightPx - BOTTOM;
  const heightOf = (value: number): number => (value / top) * (base - TOP);
  const every = Math.max(1, Math.ceil(NAME_PX / Math.max(1, step)));
  const shown = at === undefined ? undefined : bars[at];
  const move = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') setAt(undefined);
    const next = movedTo(event.key, at, bars.length - 1);
    const bar = next === undefined ? undefined : bars[next];
    if (bar === undefined) return;
    event.preventDefault();
    setAt(next);
    say(spokenText(bar, series));
  };
  return (
    // The arrow keys move between its bars.
    // oxlint-disable jsx-a11y/no-noninteractive-tabindex, jsx-a11y/no-noninteractive-element-interactions, jsx-a11y/prefer-tag-over-role
    <div
      ref={place}
      class="plot"
      role="img"
      aria-label={`${label}. Arrow keys read single bars.`}
      tabIndex={0}
      onKeyDown={move}
      onBlur={() => setAt(undefined)}
      onPointerLeave={() => setAt(undefined)}
    >
      {/* oxlint-enable */}
      <svg height={heightPx} aria-hidden="true">
        {[0, 0.5, 1].map((part) => (
          <g key={part}>
            <line
              class="gridline"
              x1={LEFT}
              x2={width}
              y1={base - heightOf(top * part)}
              y2={base - heightOf(top * part)}
            />
            <text x={LEFT - 8} y={base - heightOf(top * part) + 4} text-anchor="end">
              {compact.format(top * part)}
            </text>
          </g>
        ))}
        {bars.map((bar, index) => (
          <g key={index} onPointerEnter={() => setAt(index)}>
            <rect class={index === at ? 'hit on' : 'hit'} x={LEFT + index * step} y={0} width={step} height={base} />
            <Stack bar={bar} series={series} x={LEFT + index * step} step={step} base={base} heightOf={heightOf} />
            {index % every === 0 && LEFT + (index + 0.5) * step + NAME_PX / 2 <= width ? (
              <text x={LEFT + (index + 0.5) * step} y={heightPx - 6} text-anchor="middle">
                {bar.name}
              </text>
            ) : null}
          </g>
        ))}
      </svg>
      {shown === undefined || at === undefined ? null : (
        <Tip bar={shown} series={series} text={text} place={tipPlace(LEFT + (at + 0.5) * step, width)} />
      )}
    </div>
  );
}

/** The bar that a key moves to; undefined for a key that moves nothing. */
function movedTo(key: string, at: number | undefined, last: number): number | undefined {
  const to: Readonly<Record<string, number>> = {
    ArrowRight: Math.min(last, (at ?? -1) + 1),
    ArrowLeft: Math.max(0, (at ?? last + 1) - 1),
    Home: 0,
    End: last,
  };
  return to[key];
}

interface TipProps extends Required<Pick<PlotProps, 'series' | 'text'>> {
  readonly bar: Bar;
  readonly place: Readonly<Record<string, string>>;
}

/** The values of one bar. */
function Tip({ bar, series, text, place }: TipProps) {
  return (
    <div class="tip" style={place}>
      <strong>{bar.title ?? bar.name}</strong>
      {series.map(({ name, look }, index) => (
        <div key={name}>
          <span class={`legend ${look}`}>{name}</span>
          <span>{numberText(bar.values[index] ?? 0)}</span>
        </div>
      ))}
      {series.length > 1 ? (
        <div>
          <span>Total</span>
          <span>{text(totalOf(bar))}</span>
        </div>
      ) : null}
    </div>
  );
}

interface StackProps {
  readonly bar: Bar;
  readonly series: readonly Series[];
  readonly x: number;
  readonly step: number;
  readonly base: number;
  readonly heightOf: (value: number) => number;
}

/** The parts of one bar, a pixel apart. */
function Stack({ bar, series, x, step, base, heightOf }: StackProps) {
  const width = Math.max(1, Math.min(MAX_BAR_PX, step * 0.72));
  const below = (index: number): number => bar.values.slice(0, index).reduce((sum, value) => sum + value, 0);
  return (
    <>
      {series.map(({ name, look }, index) => {
        const value = bar.values[index] ?? 0;
        if (value <= 0) return null;
        const bottom = base - heightOf(below(index));
        const height = heightOf(value);
        return (
          <rect
            key={name}
            class={look}
            x={x + (step - width) / 2}
            y={bottom - height}
            width={width}
            height={Math.max(1, height - (bottom < base ? 1 : 0))}
            rx={Math.min(2, width / 4)}
          />
        );
      })}
    </>
  );
}

/** The names of the series with their colours. */
export function Legend({ series }: { readonly series: readonly Series[] }) {
  return (
    <span class="row wrap">
      {series.map(({ name, look }) => (
        <span key={name} class={`legend ${look}`}>
          {name}
        </span>
      ))}
    </span>
  );
}

const TIP_PX = 168;

/** Beside the bar, on the side that has room. */
function tipPlace(x: number, width: number) {
  return x + TIP_PX > width ? { right: `${Math.max(0, width - x + 12)}px` } : { left: `${x + 12}px` };
}

function totalOf({ values }: Bar): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function spokenText(bar: Bar, series: readonly Series[]): string {
  const parts = series.map(({ name }, index) => `${name} ${numberText(bar.values[index] ?? 0)}`);
  return `${bar.title ?? bar.name}: ${parts.join(', ')}`;
}

/** The next of 1, 2, 4, 5 or 10 times a power of ten, so that half of it is a short number too. */
function niceMaximum(value: number): number {
  if (value <= 4) return 4;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 4, 5, 10].find((one) => one * power >= value) ?? 10) * power;
}

const compact = new Intl.NumberFormat(undefined, { notation: 'compact' });
