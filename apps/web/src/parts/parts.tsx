import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { numberText, preciseTimeText, sinceText } from '../format.js';
import { type Going, goTo, hrefOf, type PageName, PAGES, place, type Within } from '../places.js';
import { hasNoWayBack, isOverviewLost, overview, reloadOverview, unitOf } from '../session.js';
import type { Overview } from '../server-types.js';
import { needsSignIn } from '../server.js';
import { type Action, type Data, lostReads, useNow } from '../use-data.js';
import { Icon, type IconName } from './icon.js';

/** What every page is given. */
export interface PageProps {
  readonly overview: Overview;
}

interface PageFrameProps {
  readonly title: ComponentChildren;
  /** The page above, for a single item of it. */
  readonly above?: { readonly page: PageName; readonly text: string; readonly query?: Within['query'] };
  /** At the right of the bar at the top. */
  readonly actions?: ComponentChildren;
  /** The purpose of the page, in a sentence or two. */
  readonly lead?: ComponentChildren;
  /** `narrow` limits the width of lines; `full` has no space around. */
  readonly width?: 'narrow' | 'wide' | 'full';
  readonly children: ComponentChildren;
}

const PAGE_LOOKS = { narrow: 'page narrow stack', wide: 'page', full: 'page full' };

/** A page: the bar at the top with the title and the balance, and the content. */
export function Page({ title, above, actions, lead, width = 'narrow', children }: PageFrameProps) {
  const isLost = isOverviewLost.value || lostReads.value > 0;
  return (
    <div class="grow">
      <header class="topbar">
        <div class="crumbs">
          {above === undefined ? null : (
            <>
              <PlaceLink page={above.page} query={above.query ?? {}}>
                {above.text}
              </PlaceLink>
              <Icon of="chevron-right" size={14} />
            </>
          )}
          <h1 class="cut" id="page-title" tabIndex={-1}>
            {title}
          </h1>
        </div>
        {actions}
        <Balance />
      </header>
      <main id="content" tabIndex={-1} class={PAGE_LOOKS[width]}>
        <Fault text={isLost ? 'Can’t reach the server. Retrying every 5 s.' : undefined} />
        {lead === undefined ? null : (
          <div class="page-head">
            <p>{lead}</p>
          </div>
        )}
        {children}
      </main>
    </div>
  );
}

function Balance() {
  const account = overview.value?.account;
  if (account === undefined) return null;
  return (
    <PlaceLink page="usage" class="balance" label={`Balance: ${creditsText(account.available_credits)}`}>
      <span class="wide-only">Balance</span>
      <strong>{numberText(account.available_credits)}</strong>
      <span class="wide-only faint">{unitOf(account.available_credits)}</span>
    </PlaceLink>
  );
}

export interface CardProps {
  readonly id: string;
  readonly title: string;
  readonly note?: ComponentChildren;
  /** At the right of the heading. */
  readonly actions?: ComponentChildren;
  /** Whether the content reaches the edges, as a table does. */
  readonly isFlush?: boolean;
  readonly children: ComponentChildren;
}

/** A titled part of a page. Its heading can take the focus when what had it is gone. */
export function Card({ id, title, note, actions, isFlush = false, children }: CardProps) {
  return (
    <section class="panel" aria-labelledby={id}>
      <header>
        <h2 id={id} tabIndex={-1}>
          {title}
        </h2>
        {note === undefined ? null : <p>{note}</p>}
        {actions === undefined ? null : <div class="row push">{actions}</div>}
      </header>
      {isFlush ? children : <div class="body stack">{children}</div>}
    </section>
  );
}

interface FactsProps {
  readonly facts: readonly (readonly [name: string, text: ComponentChildren])[];
}

/** A list of facts, without those that have no text. */
export function Facts({ facts }: FactsProps) {
  return (
    <dl class="facts">
      {facts.map(([name, text], index) =>
        text === undefined ? null : (
          <div key={index}>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

export type Look = 'ok' | 'fail' | 'active' | 'plain';

/** A state in one word: grey, or coloured with a dot. */
export function Badge({ look, children }: { readonly look?: Look | undefined; readonly children: ComponentChildren }) {
  return <span class={look === undefined ? 'badge' : `badge ${look}`}>{children}</span>;
}

/** Why something did not work; nothing without a text. */
export function Fault({
  text,
  children,
}: {
  readonly text: string | undefined;
  readonly children?: ComponentChildren;
}) {
  if (text === undefined) return null;
  return (
    <p class="attention bad" role="alert">
      <Icon of="circle-alert" />
      <span>{text}</span>
      {children}
    </p>
  );
}

/** Why an action did not work, with a way to another sign-in where that helps. */
export function ActionFault({ doing: { fault, error } }: { doing: Pick<Action, 'fault' | 'error'> }) {
  const isTooOld = needsSignIn(error);
  useEffect(() => {
    // The sign-in may have become too old since the page was opened, which the page then says.
    if (isTooOld) void reloadOverview();
  }, [isTooOld]);
  return <Fault text={fault}>{isTooOld ? <SignInButton /> : null}</Fault>;
}

/** Leads through another sign-in, and back to this page; nothing for a person who could not come back. A form in a dialog must not contain another: this one is made for a click. */
export function SignInButton() {
  if (hasNoWayBack.value) return null;
  const isPasskeyNeeded = overview.value?.person.is_operator === true;
  const here = location.pathname + location.search;
  return (
    <button
      type="button"
      class="button small"
      onClick={() => {
        const form = document.createElement('form');
        Object.assign(form, { method: 'post', action: `/sign-out?return=${encodeURIComponent(here)}` });
        document.body.append(form);
        form.submit();
      }}
    >
      {isPasskeyNeeded ? 'Sign in again with a passkey' : 'Sign in again'}
    </button>
  );
}

/** What needs the person's attention, with a way out. */
export function Attention({
  children,
  action,
}: {
  readonly children: ComponentChildren;
  readonly action?: ComponentChildren;
}) {
  return (
    <p class="attention">
      <Icon of="triangle-alert" />
      <span>{children}</span>
      {action}
    </p>
  );
}

interface EmptyProps {
  readonly icon: IconName;
  readonly title: string;
  readonly text?: ComponentChildren;
  /** What to do next. */
  readonly children?: ComponentChildren;
}

/** Says why a list has nothing, and the next step. */
export function Empty({ icon, title, text, children }: EmptyProps) {
  return (
    <div class="empty">
      <Icon of={icon} size={24} />
      <h2>{title}</h2>
      {text === undefined ? null : <p>{text}</p>}
      {children === undefined ? null : <div class="row">{children}</div>}
    </div>
  );
}

export interface Figure {
  readonly name: string;
  readonly value: ComponentChildren;
  /** Beside the value. */
  readonly unit?: ComponentChildren;
  readonly note?: ComponentChildren;
}

interface FiguresProps {
  readonly figures: readonly Figure[];
  /** A `dt` and a `dd` that are wider than the others. */
  readonly plot?: ComponentChildren;
}

/** The figures that matter most, side by side. */
export function Figures({ figures, plot }: FiguresProps) {
  return (
    <dl class={plot === undefined ? 'panel figures' : 'panel figures plotted'}>
      {figures.map(({ name, value, unit, note }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {value}
            {unit === undefined ? null : <small>{unit}</small>}
          </dd>
          {note === undefined ? null : <dd>{note}</dd>}
        </div>
      ))}
      {plot === undefined ? null : <div>{plot}</div>}
    </dl>
  );
}

interface MeterProps {
  value: number;
  max: number;
  label: string;
  /** Whether `max` is a limit, near which the meter is red. */
  isLimit?: boolean;
}

/** A part of a whole; red from nine tenths of a limit on. */
export function Meter({ value, max, label, isLimit = true }: MeterProps) {
  const part = max <= 0 ? 1 : Math.min(1, value / max);
  return (
    // There is no file to show.
    // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role
    <span class={isLimit && part >= 0.9 ? 'meter full' : 'meter'} role="img" aria-label={label}>
      <i style={{ inlineSize: `${Math.round(part * 100)}%` }} />
    </span>
  );
}

/** The part of a limit that is used; says so where there is no limit. Both are credits unless there is a text for them. */
export function Limit(props: { used: number | null; max: number | null; text?: (value: number) => string }) {
  const { max, text = numberText } = props;
  if (max === null) return <span class="faint">No limit</span>;
  const used = props.used ?? 0;
  const label =
    props.text === undefined ? `${text(used)} of ${creditsText(max)} spent` : `${text(used)} of ${text(max)}`;
  return (
    <div class="limit">
      <span class="num">{text(used)}</span> <span class="faint num">{`of ${text(max)}`}</span>
      <Meter value={used} max={max} label={label} />
    </div>
  );
}

const MINUTE_MS = 60_000;

/** A time as its distance from now; the exact one is its title. */
export function Time({ at }: { readonly at: string }) {
  const now = useNow(MINUTE_MS);
  return (
    <time dateTime={at} title={preciseTimeText(at)}>
      {sinceText(at, now)}
    </time>
  );
}

/** An amount with the name of the credits, which is that of the person's account where absent. */
export function creditsText(credits: number, name?: string): string {
  return `${numberText(credits)} ${unitOf(credits, name)}`;
}

/** Lines of text that are being loaded. */
export function SkeletonLines({ count = 3 }: { readonly count?: number }) {
  return (
    <div class="stack" aria-hidden="true">
      {Array.from({ length: count }, (_, index) => (
        <div key={index} class="skeleton line" />
      ))}
    </div>
  );
}

/** A placeholder of the height of a few table rows. */
export function SkeletonRows() {
  return (
    <div class="body stack" aria-hidden="true">
      {[0, 1, 2].map((row) => (
        <div key={row} class="skeleton row-line" />
      ))}
    </div>
  );
}

interface LoadedProps<T> {
  readonly data: Data<T>;
  /** The name of the data, as in "Loading keys…". */
  readonly what: string;
  /** In the final size, while it loads. */
  readonly skeleton?: ComponentChildren;
  readonly children: (value: T) => ComponentChildren;
}

/** Shows the data, that it is loading, or why it could not be loaded with a button to try again. */
export function Loaded<T>({ data, what, skeleton, children }: LoadedProps<T>) {
  const { value, fault, isFinal = false, reload } = data;
  return (
    <>
      <Fault text={fault}>
        {isFinal ? (
          <BackToList />
        ) : (
          <button type="button" class="button small" onClick={() => void reload()}>
            Try again
          </button>
        )}
      </Fault>
      {value !== undefined ? (
        children(value)
      ) : fault === undefined ? (
        <div aria-busy="true">
          <span class="visually-hidden">{`Loading ${what}…`}</span>
          {skeleton ?? <SkeletonLines />}
        </div>
      ) : null}
    </>
  );
}

/** Leads from the address of a single thing to the list of all. */
function BackToList() {
  const { page, id } = place.value;
  if (page === undefined || id === undefined) return null;
  return (
    <PlaceLink page={page} class="button small">
      {`Back to ${PAGES[page].title}`}
    </PlaceLink>
  );
}

interface PlaceLinkProps extends Within, Going {
  page: PageName;
  isCurrent?: boolean;
  class?: string | undefined;
  /** The label for screen readers, where the visible text does not say where it leads. */
  label?: string | undefined;
  /** Whether the Tab key reaches it; in a list with arrow keys one link is. */
  isReachable?: boolean;
  children: ComponentChildren;
}

/**
 * A link to a page of the console, or to something in it, which loads no other document. With a key held down browsers do what
 * they do.
 */
export function PlaceLink({ page, id, query = {}, isCurrent = false, isReachable = true, ...link }: PlaceLinkProps) {
  const { class: look, label, children, ...going } = link;
  const href = hrefOf(page, { id, query });
  const follow = (event: MouseEvent): void => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    goTo(href, going);
  };
  return (
    <a
      href={href}
      class={look}
      aria-label={label}
      aria-current={isCurrent ? 'page' : undefined}
      tabIndex={isReachable ? undefined : -1}
      onClick={follow}
    >
      {children}
    </a>
  );
}
