import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import { frozenCopy } from './frozen-copy.js';
import { compareText, OrderedList } from './ordered-list.js';

/** Things by id, and per account in order of id. */
export class AccountThings<T extends { readonly accountId: string }> {
  private readonly things = new Map<string, T>();
  private readonly idsByAccount = new Map<string, OrderedList<string>>();

  constructor(private readonly idOf: (thing: T) => string) {}

  get(id: string): T | undefined {
    return this.things.get(id);
  }

  insert(thing: T): T {
    const copy = this.put(thing);
    let ids = this.idsByAccount.get(thing.accountId);
    if (ids === undefined) this.idsByAccount.set(thing.accountId, (ids = new OrderedList(compareText)));
    ids.insert(this.idOf(thing));
    return copy;
  }

  /** Keeps a copy in place of what has the same id. */
  put(thing: T): T {
    const copy = frozenCopy(thing);
    this.things.set(this.idOf(thing), copy);
    return copy;
  }

  list(accountId: string, page: PageRequest): Page<T> {
    const ids = this.idsByAccount.get(accountId);
    const from = page.cursor === undefined || ids === undefined ? 0 : ids.firstNotBefore(`${page.cursor}\0`);
    const found = ids?.slice(from, checkedLimit(page.limit) + 1) ?? [];
    return pageOf(
      found.map((id) => this.things.get(id) as T),
      page,
      this.idOf,
    );
  }
}
