import type { ComponentProps } from 'preact';
import { numberText } from '../format.js';
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

/** What cannot be undone is ticked before it is done. */
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
