import { useState } from 'preact/hooks';
import { ageText, dateText, dayAgoText, dayText, preciseTimeText, sinceText } from '../format.js';

const DAY_MS = 86_400_000;
const SOON_DAYS = 14;

interface UsedOnProps {
  readonly day: string | null;
  /** Whether it continues a sentence. */
  readonly isInText?: boolean;
}

/** The UTC day on which a credential was last used. */
export function UsedOn({ day, isInText = false }: UsedOnProps) {
  const [now] = useState(() => Date.now());
  if (day === null) return <span class="faint">{isInText ? 'never' : 'Never'}</span>;
  const text = dayAgoText(day, now);
  return (
    <time dateTime={day} title={`${dayText(day)} (UTC)`}>
      {isInText ? text.replace(/^(Today|Yesterday)$/, (word) => word.toLowerCase()) : text}
    </time>
  );
}

/** A list of events: the first time in full, the others as the time since the previous event. */
export function Timeline({ steps }: { steps: readonly { text: string; at: string; look?: string | undefined }[] }) {
  return (
    <ol class="timeline">
      {steps.map(({ text, at, look }, index) => {
        const before = steps[index - 1]?.at;
        return (
          <li key={`${text} ${at}`} class={look}>
            <span>{text}</span>
            <time dateTime={at} title={preciseTimeText(at)}>
              {before === undefined ? preciseTimeText(at) : `+ ${ageText(before, at)}`}
            </time>
          </li>
        );
      })}
    </ol>
  );
}

/** When something ends: the days left for the last two weeks, otherwise the date. */
export function Expiry({ at }: { readonly at: string | null }) {
  const [now] = useState(() => Date.now());
  if (at === null) return <span class="faint">Never</span>;
  const days = Math.round((Date.parse(at) - now) / DAY_MS);
  const left = days < 1 ? sinceText(at, now) : `in ${days} ${days === 1 ? 'day' : 'days'}`;
  const text = days >= SOON_DAYS ? dateText(at) : left.replace(/^./, (first) => first.toUpperCase());
  return (
    <time dateTime={at} title={preciseTimeText(at)} class={days < SOON_DAYS ? 'soon' : undefined}>
      {text}
    </time>
  );
}
