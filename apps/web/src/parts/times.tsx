import { useState } from 'preact/hooks';
import { dateText, dayAgoText, dayText, preciseTimeText, sinceText } from '../format.js';

const DAY_MS = 86_400_000;
const SOON_DAYS = 14;

/** The UTC day on which a credential was last used. */
export function UsedOn({ day }: { readonly day: string | null }) {
  const [now] = useState(() => Date.now());
  if (day === null) return <span class="faint">Never</span>;
  return (
    <time dateTime={day} title={`${dayText(day)} (UTC)`}>
      {dayAgoText(day, now)}
    </time>
  );
}

/** When something ends: the days left for the last two weeks, otherwise the date. */
export function Expiry({ at }: { readonly at: string | null }) {
  const [now] = useState(() => Date.now());
  if (at === null) return <span class="faint">Never</span>;
  const days = Math.round((Date.parse(at) - now) / DAY_MS);
  const text =
    days >= SOON_DAYS ? dateText(at) : days < 1 ? sinceText(at, now) : `In ${days} ${days === 1 ? 'day' : 'days'}`;
  return (
    <time dateTime={at} title={preciseTimeText(at)} class={days < SOON_DAYS ? 'soon' : undefined}>
      {text}
    </time>
  );
}
