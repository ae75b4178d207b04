import type { ComponentProps } from 'preact';
import { numberText } from '../format.js';
import { ask, type Question } from '../parts/ask.js';
import { Button } from '../parts/buttons.js';
import { Attention, Page, PlaceLink, SignInButton } from '../parts/parts.js';
import type { PageName } from '../places.js';
import { overview } from '../session.js';

/** A page of the area on which something can be changed; says so while it can only be read. */
export function AreaPage({ children, ...page }: ComponentProps<typeof Page>) {
  return (
    <Page {...page}>
      {overview.value?.session.is_recent === false ? (
        <Attention action={<SignInButton />}>
          You signed in more than 15 minutes ago. Sign in again to change anything here.
        </Attention>
      ) : null}
      {children}
    </Page>
  );
}

/** A link to a page of the area, or to a single item of it. */
export function linkTo(page: PageName, text: string, id?: string, look?: string) {
  return (
    <PlaceLink page={page} id={id} class={look}>
      {text}
    </PlaceLink>
  );
}

/** Values of a response that are numbers. */
export type Numbers<N extends string> = Readonly<Record<N, number>>;

/** Reports a change, once what has changed is loaded again. */
export type Said = (sentence: string) => Promise<void>;

/** A button whose dialog creates something, as in "Create key". */
export function createButton<T>(
  what: string,
  { kind, ...question }: Omit<Question<T>, 'title' | 'doIt'> & { kind?: 'primary' },
) {
  const doIt = `Create ${what}`;
  const act = (): void => ask({ title: doIt, isHarmless: true, doIt, ...question });
  return (
    <Button icon="plus" kind={kind} isSmall={kind === undefined} onClick={act}>
      {doIt}…
    </Button>
  );
}

/** A required checkbox before an action that cannot be undone. */
export function understood() {
  return (
    <label class="check">
      <input type="checkbox" required />
      <span>I know that this can’t be undone.</span>
    </label>
  );
}

/** `1 worker`, `2 workers`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${numberText(count)} ${count === 1 ? one : many}`;
}
