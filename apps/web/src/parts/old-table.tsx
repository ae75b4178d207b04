import type { ComponentChildren } from 'preact';
import { Ellipsis } from 'lucide-preact';
import { Icon } from './icon.js';
import { type MenuItem, MenuButton } from './overlays.js';

interface TableProps<T> {
  /** The id of its heading. */
  readonly labelledBy: string;
  readonly columns: readonly string[];
  /** Columns of numbers, after the others. */
  readonly numbers?: readonly string[];
  /** Whether each row ends with its acts. */
  readonly hasActs?: boolean;
  readonly items: readonly T[];
  /** The row of an item. */
  readonly children: (item: T) => ComponentChildren;
  /** Rows after those of the items. */
  readonly after?: ComponentChildren;
}

/** A table whose rows become a list where it has no room: the cells have the names of their columns in `data-name`. */
export function Table<T>({
  labelledBy,
  columns,
  numbers = [],
  hasActs = false,
  items,
  children,
  after,
}: TableProps<T>) {
  return (
    <div class="stacking">
      <table class="table" aria-labelledby={labelledBy}>
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
            {numbers.map((name) => (
              <th key={name} scope="col" class="number">
                {name}
              </th>
            ))}
            {hasActs ? (
              <th scope="col">
                <span class="visually-hidden">Actions</span>
              </th>
            ) : null}
          </tr>
        </thead>
        <tbody>
          {items.map(children)}
          {after}
        </tbody>
      </table>
    </div>
  );
}

interface RowMenuProps {
  /** What the acts are for, as in "Actions for laptop". */
  readonly of: string;
  readonly items: readonly MenuItem[];
}

/** The last cell of a row, with its acts. */
export function RowMenu({ of, items }: RowMenuProps) {
  return (
    <td class="row-menu">
      <MenuButton
        label={`Actions for ${of}`}
        class="button quiet small square"
        button={<Icon of={Ellipsis} size={14} />}
        items={items}
      />
    </td>
  );
}
