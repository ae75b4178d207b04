import type { ComponentChildren } from 'preact';
import { Page, PlaceLink } from '../parts/parts.js';
import type { PageName } from '../places.js';
import { API, codeOf, Explained, refusalOf } from '../server.js';
import { overview } from '../session.js';
import { RecentSignInNeeded } from './acts.js';

interface AreaPageProps {
  readonly title: ComponentChildren;
  /** The page above, for a single item of it. */
  readonly above?: { readonly page: PageName; readonly text: string };
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A page of the area on which something can be changed. */
export function AreaPage({ children, ...page }: AreaPageProps) {
  return (
    <Page {...page}>
      <div class="stack">
        {overview.value?.session.is_recent === false ? <RecentSignInNeeded /> : null}
        {children}
      </div>
    </Page>
  );
}

/** A link to a page of the area, or to a single item of it. */
export function linkTo(page: PageName, text: string, id?: string) {
  return (
    <PlaceLink page={page} id={id}>
      {text}
    </PlaceLink>
  );
}

const CUT = 'The connection to the server was lost. Try again.';
const UNREADABLE = 'The server gave an answer that this page cannot read.';

/** Requests a response that consists of lines of JSON. Throws `Explained`, or the refusal. */
export async function* linesOf<T>(path: string, signal: AbortSignal): AsyncGenerator<T> {
  const init: RequestInit = {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{}',
    signal,
    cache: 'no-store',
  };
  const response = await fetch(API + path, init).catch(() => {
    throw new Explained(CUT);
  });
  if (!response.ok || response.body === null) {
    const refusal = await refusalOf(response);
    throw codeOf(refusal) === '' ? new Explained(UNREADABLE) : refusal;
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new Explained(CUT);
    });
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield lineOf<T>(line);
  }
}

/** Throws `Explained` for a line that is not of the service, such as one of a proxy. */
function lineOf<T>(line: string): T {
  try {
    return JSON.parse(line) as T;
  } catch {
    throw new Explained(UNREADABLE);
  }
}
