import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { lengthText } from '../format.js';
import { Icon, type IconName } from '../parts/icon.js';
import { Badge, Empty, PlaceLink, Time } from '../parts/parts.js';
import type { AccountGeneration } from '../server-types.js';
import { promptOf } from '../generations/generation-texts.js';
import { place } from '../places.js';
import { justify } from './justified-rows.js';
import { Picture, ratioOf, thumbnailsOf } from './picture.js';

const GAP_PX = 8;
const ROW_PX = 172;
const NARROW_ROW_PX = 136;
/** Below this width tiles are squares in two columns, which the style sheet arranges. */
const SQUARES_BELOW_PX = 520;

interface GalleryProps {
  generations: readonly AccountGeneration[];
  /** The most rows that are shown; all where absent. */
  maxRows?: number;
  /** Whether more follow: a row that they would change is then not shown yet. */
  hasMore?: boolean;
  /** Whether the first row is in view when the page opens. */
  isFirst?: boolean;
  label: string;
}

/** Generations as pictures in rows of equal height. The rows follow from the sizes, before any picture is loaded. */
export function Gallery({ generations, maxRows, hasMore = false, isFirst = false, label }: GalleryProps) {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  // Before the browser draws, so that nothing moves.
  useLayoutEffect(() => {
    if (frame.current === null) return;
    setWidth(frame.current.clientWidth);
    const resizing = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    resizing.observe(frame.current);
    return () => resizing.disconnect();
  }, []);
  const isSquares = width < SQUARES_BELOW_PX;
  const all = justify(generations, shapeOf, {
    widthPx: Math.max(width, SQUARES_BELOW_PX),
    gapPx: GAP_PX,
    heightPx: width < 900 ? NARROW_ROW_PX : ROW_PX,
  });
  const isHeld = hasMore && !isSquares && all.length > 1 && all.at(-1)?.isFull === false;
  const rows = all.slice(0, isHeld ? -1 : maxRows);
  return (
    <div ref={frame} class={isSquares ? 'gallery squares' : 'gallery'}>
      {width === 0 ? null : (
        <ul class="tiles" aria-label={label}>
          {rows.flatMap(({ heightPx, pictures }, row) =>
            pictures.map(({ item, widthPx }) => (
              <Tile
                key={item.generation_id}
                generation={item}
                isFirst={isFirst && row === 0}
                widthPx={isSquares ? Math.floor((width - GAP_PX) / 2) : widthPx}
                heightPx={isSquares ? undefined : heightPx}
              />
            )),
          )}
        </ul>
      )}
    </div>
  );
}

/** The ratio of the first output; a square until there is one. */
function shapeOf({ outputs: [output] }: AccountGeneration): number {
  return output === undefined ? 1 : ratioOf(output);
}

/** Where the list itself is shown, a generation opens over it. */
export function overList() {
  const { page, query } = place.value;
  return page === 'generations' ? { query, keepsScroll: true } : {};
}

interface TileProps {
  generation: AccountGeneration;
  widthPx: number;
  /** Undefined for a square. */
  heightPx: number | undefined;
  isFirst: boolean;
}

function Tile({ generation, widthPx, heightPx, isFirst }: TileProps) {
  const { generation_id: id, model_key: model, created_at: createdAt } = generation;
  return (
    <li class="tile" style={{ inlineSize: `${widthPx}px` }}>
      <PlaceLink page="generations" id={id} class="tile-link" {...overList()}>
        <span class="shot" style={heightPx === undefined ? {} : { blockSize: `${heightPx}px` }}>
          <Shot generation={generation} widthPx={widthPx} isFirst={isFirst} />
        </span>
        <span class="caption">
          <span class="cut">{promptOf(generation)}</span>
          <span class="tile-facts">
            <span class="cut">{model}</span>
            <Time at={createdAt} />
          </span>
        </span>
      </PlaceLink>
    </li>
  );
}

/** The first output, or the state of a generation that has none. */
function Shot({ generation, widthPx, isFirst }: Omit<TileProps, 'heightPx'>) {
  const { outputs, status, error } = generation;
  const [output] = outputs;
  const state = (icon: IconName, text: string, look = 'state') => (
    <span class={look}>
      <Icon of={icon} />
      <span class="state-text">{text}</span>
    </span>
  );
  if (generation.outputs_removed_at !== null) return state('clock', 'Expired');
  if (status === 'running')
    return (
      <span class="state run">
        <Badge look="active">Running</Badge>
      </span>
    );
  if (status === 'queued')
    return (
      <span class="state">
        <Badge>Queued</Badge>
      </span>
    );
  if (output === undefined)
    return status === 'failed'
      ? state('circle-alert', error?.message ?? 'Failed', 'state fail')
      : state('circle-slash', status === 'cancelled' ? 'Cancelled' : 'No output');
  return (
    <>
      <Picture
        output={output}
        thumbnails={thumbnailsOf(generation, output)}
        alt=""
        shownWidth={widthPx}
        isFirst={isFirst}
      />
      {output.duration_ms === undefined ? null : (
        <span class="mark">
          <Icon of="play" size={12} />
          <span class="visually-hidden">Video, </span>
          {lengthText(output.duration_ms)}
        </span>
      )}
      {outputs.length < 2 ? null : (
        <span class="mark">
          <Icon of="layers" size={12} />
          {outputs.length}
          <span class="visually-hidden"> outputs</span>
        </span>
      )}
    </>
  );
}

/** In place of a gallery of an account that has no generation yet. */
export function NoGenerations({ text }: { text: string }) {
  return (
    <div class="panel">
      <Empty icon="images" title="No generations yet" text={text}>
        <PlaceLink page="playground" class="button primary">
          Open the playground
        </PlaceLink>
        <PlaceLink page="keys" class="button">
          Copy a curl command
        </PlaceLink>
      </Empty>
    </div>
  );
}

/** Tiles of the final size, while a gallery is loaded. */
export function GallerySkeleton({ rows = 2 }: { rows?: number }) {
  return (
    <div class="gallery" aria-hidden="true">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} class="row skeleton-row">
          {[1.78, 1, 1.78, 1.5].map((ratio, index) => (
            <div key={index} class="skeleton" style={{ flex: `${ratio} 1 0`, blockSize: `${ROW_PX}px` }} />
          ))}
        </div>
      ))}
    </div>
  );
}
