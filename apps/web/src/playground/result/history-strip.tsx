import { useRef } from 'preact/hooks';
import { STATUS_TEXTS } from '../../generations/generation-texts.js';
import { Picture, ratioOf, thumbnailsOf } from '../../media/picture.js';
import { Icon } from '../../parts/icon.js';
import { PlaceLink } from '../../parts/parts.js';
import type { AccountGeneration } from '../../server-types.js';
import type { Playground } from '../use-playground.js';

/** What the account has created in the playground. The arrow keys move in it. */
export function HistoryStrip({ play: { history: generations, from } }: { play: Playground }) {
  const list = useRef<HTMLOListElement>(null);
  const reachable = generations.find(({ generation_id: id }) => id === from) ?? generations[0];
  const move = (event: KeyboardEvent): void => {
    const all = [...(list.current?.querySelectorAll<HTMLElement>('a') ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to: Readonly<Record<string, number>> = {
      ArrowRight: at + 1,
      ArrowLeft: at - 1,
      Home: 0,
      End: all.length - 1,
    };
    const next = to[event.key];
    if (next === undefined || at < 0) return;
    event.preventDefault();
    all[next]?.focus();
  };
  if (generations.length === 0) return null;
  return (
    <section class="history" aria-labelledby="history">
      <header class="row">
        <h2 id="history">History</h2>
        <span class="small faint wide-only">Last 50 of the playground</span>
        <PlaceLink page="generations" class="small muted push">
          All generations
        </PlaceLink>
      </header>
      {/* Its links take the focus. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions */}
      <ol ref={list} class="history-list" onKeyDown={move}>
        {generations.map((one) => (
          <li key={one.generation_id} aria-current={one.generation_id === from || undefined}>
            <PlaceLink
              page="playground"
              query={{ from: one.generation_id }}
              label={`${one.prompt || one.model_key}, ${STATUS_TEXTS[one.status].toLowerCase()}`}
              keepsScroll
              isReachable={one === reachable}
            >
              <Thumb of={one} />
            </PlaceLink>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The first output, or the state of a generation without one. */
function Thumb({ of }: { of: AccountGeneration }) {
  const { outputs, status, modality } = of;
  const [first] = outputs;
  if (first === undefined) {
    const icon = status === 'queued' ? 'clock' : status === 'failed' ? 'circle-alert' : 'circle-slash';
    return (
      <span class={`thumb ${status}`} style={{ aspectRatio: '1' }}>
        {status === 'running' ? <span class="spinner" /> : <Icon of={icon} />}
      </span>
    );
  }
  const ratio = Math.min(2.4, Math.max(0.5, ratioOf(first)));
  return (
    <span class="thumb" style={{ aspectRatio: ratio.toFixed(3) }}>
      <Picture output={first} thumbnails={thumbnailsOf(of, first)} alt="" shownWidth={Math.round(64 * ratio)} />
      {outputs.length < 2 && modality === 'image' ? null : (
        <span class="mark">{modality === 'video' ? <Icon of="video" size={12} /> : outputs.length}</span>
      )}
    </span>
  );
}
