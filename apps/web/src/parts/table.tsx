import type { ComponentChildren } from 'preact';
import type { Data, Pages } from '../use-data.js';
import { ask, type Question } from './ask.js';
import { copyText, MoreButton, type MoreButtonProps } from './buttons.js';
import { Icon, type IconName } from './icon.js';
import { type MenuItem, MenuButton } from './overlays.js';
import { Card, type CardProps, Loaded, SkeletonRows } from './parts.js';

/** A column: its name, what it shows of an item, and a class of its cells, such as `number`. */
export type Column<T> = readonly [name: string, cell: (item: T) => ComponentChildren, look?: string];

interface TableProps<T> {
  /** The id of its heading. */
  labelledBy: string;
  items: readonly T[];
  idOf: (item: T) => string;
  /** The first one names the item. */
  columns: readonly Column<T>[];
  /** Whether an item is over, so that its row is faint. */
  isOver?: (item: T) => boolean;
  /** The acts of an item as a menu, with the name of the item. */
  menu?: (item: T) => readonly [name: string, ...items: MenuItem[]] | undefined;
  /** The acts of an item as buttons. */
  acts?: (item: T) => ComponentChildren;
  /** Below the rows, for the next ones. */
  more?: MoreButtonProps | undefined;
  /** In place of the table where it has no items. */
  empty?: ComponentChildren;
  /** The name of the region that scrolls where there is no room, for tables of numbers, in place of a list. */
  scrolls?: string;
  /** A class of the table that makes it fit where there is no room, in place of a list. */
  fits?: string;
  /** Rows before and after those of the items. */
  before?: ComponentChildren;
  after?: ComponentChildren;
  /** Sums of all items, as a last row that is shown like them. */
  total?: T;
  /** For rows that are links: whether this is the current one. */
  isCurrent?: (item: T) => boolean;
}

/** A table whose rows become a list where it has no room: each cell then shows the name of its column. */
export function Table<T>(props: TableProps<T>) {
  const { labelledBy, items, idOf, columns, isOver, menu, acts, more, empty, scrolls, fits, isCurrent } = props;
  const { before, after, total } = props;
  const cellOf = (item: T, [name, cell, kind]: Column<T>, index: number) =>
    index === 0 ? (
      <th key={name} scope="row" class={kind}>
        {cell(item)}
      </th>
    ) : (
      <td key={name} data-name={name} class={kind}>
        {cell(item)}
      </td>
    );
  const table = (
    <table class={fits === undefined ? 'table' : `table ${fits}`} aria-labelledby={labelledBy}>
      <thead>
        <tr>
          {columns.map(([name, , kind]) => (
            <th key={name} scope="col" class={fits !== undefined || kind === 'number' ? kind : undefined}>
              {name}
            </th>
          ))}
          {menu === undefined && acts === undefined ? null : (
            <th scope="col">
              <span class="visually-hidden">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {before}
        {items.map((item) => (
          <tr
            key={idOf(item)}
            class={isOver?.(item) === true ? 'over' : isCurrent && 'link'}
            aria-current={isCurrent?.(item) === true ? 'true' : undefined}
          >
            {columns.map((column, index) => cellOf(item, column, index))}
            {menu === undefined ? null : <MenuCell menu={menu(item)} />}
            {acts === undefined ? null : <td class="row-act">{acts(item)}</td>}
          </tr>
        ))}
        {after}
      </tbody>
      {total === undefined ? null : (
        <tfoot>
          <tr>{columns.map((column, index) => cellOf(total, column, index))}</tr>
        </tfoot>
      )}
    </table>
  );
  return (
    <>
      {items.length === 0 && empty !== undefined ? (
        empty
      ) : fits !== undefined ? (
        table
      ) : scrolls === undefined ? (
        <div class="stacking">{table}</div>
      ) : (
        // What scrolls must be reachable without a pointer.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <section class="scroll-x" tabIndex={0} aria-label={scrolls}>
          {table}
        </section>
      )}
      {more === undefined ? null : <MoreButton {...more} />}
    </>
  );
}

interface TableCardProps<T>
  extends Omit<TableProps<T>, 'labelledBy' | 'items'>, Omit<CardProps, 'isFlush' | 'children'> {
  /** A list that is loaded page by page, in place of `items` and `more`. */
  pages?: Pages<T, unknown>;
  /** The data that the items come from, if the card loads it. */
  data?: Data<unknown>;
  items?: readonly T[] | undefined;
  /** The kind of items, as in "More keys". */
  what?: string;
  /** Above the table. */
  children?: ComponentChildren;
  below?: ComponentChildren;
}

/** A card with a table, which it shows once that is loaded. */
export function TableCard<T>(props: TableCardProps<T>) {
  const { id, title, note, actions, pages, data = pages, items = pages?.items ?? [], what = '', ...rest } = props;
  const { children, below, ...table } = rest;
  const shown = (
    <>
      <Table more={pages && { pages, what }} {...table} labelledBy={id} items={items} />
      {below}
    </>
  );
  return (
    <Card id={id} title={title} note={note} actions={actions} isFlush>
      {children}
      {data === undefined ? (
        shown
      ) : (
        <Loaded data={data} what={what} skeleton={<SkeletonRows />}>
          {() => shown}
        </Loaded>
      )}
    </Card>
  );
}

function MenuCell({
  menu: [name, ...items] = [''],
}: {
  menu: readonly [name: string, ...items: MenuItem[]] | undefined;
}) {
  return (
    <td class="row-menu">
      {items.length === 0 ? null : (
        <MenuButton
          label={`Actions for ${name}`}
          class="button quiet small square"
          button={<Icon of="ellipsis" size={14} />}
          items={items}
        />
      )}
    </td>
  );
}

/** The name of an item, or a link that is it, with a line below. */
export function Named({ children, note }: { children: ComponentChildren; note?: ComponentChildren }) {
  return (
    <>
      <span class="named">{children}</span>
      {note === undefined ? null : <small>{note}</small>}
    </>
  );
}

/** Nothing to show in a cell; `why` says so to screen readers, and in the title. */
export function None({ why }: { why?: string }) {
  return (
    <span class="faint" title={why}>
      –{why === undefined ? null : <span class="visually-hidden">{why}</span>}
    </span>
  );
}

export function copyItem(id: string, what = 'id'): MenuItem {
  return { text: `Copy ${what}`, icon: 'copy', act: () => void copyText(id, `the ${what}`) };
}

/** An item that asks before it does something; red unless that is harmless. */
export function askItem<T>(text: string, icon: IconName, question: Question<T>): MenuItem {
  return { text, icon, act: () => ask(question), isDangerous: question.isHarmless !== true };
}
