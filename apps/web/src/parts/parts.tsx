import type { ComponentChildren } from 'preact';
import { goTo, hrefOf, type SectionName, type Within } from '../router.js';
import type { Overview } from '../server-types.js';
import type { Data } from '../use-data.js';

/** The properties of every section of the page. */
export interface SectionProps {
  readonly overview: Overview;
  /** Reads the overview again. */
  readonly reload: () => Promise<void>;
}

export interface CardProps {
  readonly id: string;
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A titled part of a section. Its heading can take the focus when what had it is gone. */
export function Card({ id, title, note, children }: CardProps) {
  return (
    <section class="card" aria-labelledby={id}>
      <header>
        <h2 id={id} tabIndex={-1}>
          {title}
        </h2>
        {note === undefined ? null : <p class="quiet">{note}</p>}
      </header>
      {children}
    </section>
  );
}

/** Moves the focus to a heading, once the page is drawn. */
export function focusOn(id: string): void {
  requestAnimationFrame(() => document.getElementById(id)?.focus());
}

/** One line of a list of facts; nothing where there is no text. */
export function Fact({ name, text }: { readonly name: string; readonly text: ComponentChildren }) {
  if (text === undefined) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{text}</dd>
    </div>
  );
}

interface FactsProps {
  readonly facts: readonly (readonly [name: string, text: ComponentChildren])[];
  /** Further classes. */
  readonly class?: string;
}

/** A list of facts, without those that have no text. */
export function Facts({ facts, class: more = '' }: FactsProps) {
  return (
    <dl class={`facts ${more}`.trim()}>
      {facts.map(([name, text]) => (
        <Fact key={name} name={name} text={text} />
      ))}
    </dl>
  );
}

interface ChoiceProps<T extends string | number> {
  readonly label: string;
  readonly name?: string;
  readonly value: T | string | undefined;
  /** The text for no choice; null where there must be one. */
  readonly none?: string | null;
  readonly among: readonly T[];
  readonly text: (one: T) => string;
  readonly changed?: (value: string) => void;
}

/** A filter by one of some values. */
export function Choice<T extends string | number>({
  label,
  name,
  value,
  none = 'Any',
  among,
  text,
  changed,
}: ChoiceProps<T>) {
  return (
    <label>
      {label}
      <select name={name} value={value ?? ''} onChange={({ currentTarget }) => changed?.(currentTarget.value)}>
        {none === null ? null : <option value="">{none}</option>}
        {among.map((one) => (
          <option key={one} value={one}>
            {text(one)}
          </option>
        ))}
      </select>
    </label>
  );
}

interface RowsProps<T> {
  readonly items: readonly T[];
  /** The text where there is none. */
  readonly empty: ComponentChildren;
  readonly isDense?: boolean;
  readonly children: (item: T) => ComponentChildren;
}

/** A list, one row for each item. */
export function Rows<T>({ items, empty, isDense = false, children }: RowsProps<T>) {
  return items.length === 0 ? (
    <p class="empty">{empty}</p>
  ) : (
    <ul class={isDense ? 'rows dense' : 'rows'}>{items.map(children)}</ul>
  );
}

interface RowProps {
  readonly title: ComponentChildren;
  /** The note beside its title. */
  readonly badge?: string | undefined;
  readonly isWarning?: boolean;
  /** Whether it no longer counts. */
  readonly isOver?: boolean;
  /** The buttons beside its title. */
  readonly actions?: ComponentChildren;
  /** Between its title and its facts. */
  readonly note?: string | undefined;
  readonly facts: FactsProps['facts'];
  /** Below its facts. */
  readonly children?: ComponentChildren;
}

/** One item of a list. */
export function Row({ title, badge, isWarning, isOver, actions, note, facts, children }: RowProps) {
  return (
    <li class={isOver === true ? 'over' : undefined}>
      <div class="row-head">
        <h3>
          {title}
          {badge === undefined ? null : <span class={isWarning === true ? 'badge warning' : 'badge'}>{badge}</span>}
        </h3>
        {actions}
      </div>
      {note === undefined ? null : <p class="quiet">{note}</p>}
      <Facts facts={facts} />
      {children}
    </li>
  );
}

/** Why something did not work; nothing without a text. */
export function Fault({ text }: { readonly text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <p class="fault" role="alert">
      {text}
    </p>
  );
}

export interface Figure {
  readonly name: string;
  readonly value: string;
  readonly note: string;
}

/** The figures that matter most, side by side; where they are many, narrower. */
export function Figures({
  figures,
  isNarrow = false,
}: {
  readonly figures: readonly Figure[];
  readonly isNarrow?: boolean;
}) {
  return (
    <dl class={isNarrow ? 'figures narrow' : 'figures'}>
      {figures.map(({ name, value, note }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <strong>{value}</strong>
            <span class="quiet">{note}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

interface LoadedProps<T> {
  readonly data: Data<T>;
  /** The name of the data, as in "Loading keys…". */
  readonly what: string;
  readonly children: (value: T) => ComponentChildren;
}

/** Shows the data, that it is loading, or why it could not be loaded with a button to try again. */
export function Loaded<T>({ data: { value, fault, reload }, what, children }: LoadedProps<T>) {
  return (
    <>
      {fault === undefined ? null : (
        <div class="fault" role="alert">
          <p>{fault}</p>
          <button type="button" class="outline secondary small" onClick={() => void reload()}>
            Try again
          </button>
        </div>
      )}
      {value !== undefined ? (
        children(value)
      ) : fault === undefined ? (
        <p class="loading" aria-busy="true">{`Loading ${what}…`}</p>
      ) : null}
    </>
  );
}

interface PageLinkProps {
  readonly href: string;
  readonly isCurrent?: boolean;
  readonly class?: string;
  /** The label for screen readers, where the visible text does not say where it leads. */
  readonly label?: string;
  readonly children: ComponentChildren;
}

/** A link to an address of this page, which needs no other page for it. With a key held down browsers do what they do. */
export function PageLink({ href, isCurrent = false, class: className, label, children }: PageLinkProps) {
  const follow = (event: MouseEvent): void => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    goTo(href);
    window.scrollTo(0, 0);
  };
  return (
    <a href={href} class={className} aria-label={label} aria-current={isCurrent ? 'page' : undefined} onClick={follow}>
      {children}
    </a>
  );
}

interface SectionLinkProps extends Within {
  readonly name: SectionName;
  readonly isCurrent?: boolean;
  readonly class?: string;
  /** The label for screen readers, where the visible text does not say where it leads. */
  readonly label?: string;
  readonly children: ComponentChildren;
}

/** A link to a section of the page, or to something in it. */
export function SectionLink({ name, id, query = {}, children, ...link }: SectionLinkProps) {
  return (
    <PageLink href={hrefOf(name, { id, query })} {...link}>
      {children}
    </PageLink>
  );
}
