import { useState } from 'preact/hooks';
import { announce } from '../announce.js';
import { dateText, numberText, textOf } from '../format.js';
import { Card, Fact, Loaded, PageLink } from '../parts/parts.js';
import { goTo } from '../router.js';
import { change } from '../server.js';
import { ActButton } from './act-button.js';
import type { Account } from './server-types.js';
import { hrefOfPlace, MoreButton, usePages } from './use-pages.js';

interface RefusedProps {
  readonly refused: () => void;
}

/** All accounts, or those that are looked for. */
export function AccountList({ refused }: RefusedProps) {
  const [search, setSearch] = useState('');
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    setSearch(textOf(new FormData(event.currentTarget as HTMLFormElement), 'search').trim());
  };
  return (
    <>
      <Card id="find" title="Find an account">
        <form class="search" onSubmit={submit}>
          <label>
            A name, an e-mail address, or an id
            <input type="search" name="search" maxLength={254} aria-describedby="search-note" />
            <small id="search-note">
              A part of the account’s name, the address of a person, or the id of an account, App, key, person or
              generation. Empty: all accounts.
            </small>
          </label>
          <button type="submit">Find</button>
        </form>
      </Card>
      <Found key={search} search={search} refused={refused} />
    </>
  );
}

function Found({ search, refused }: RefusedProps & { readonly search: string }) {
  const query = search === '' ? '' : `?search=${encodeURIComponent(search)}`;
  const accounts = usePages<'accounts', Account>(`/operator/accounts${query}`, 'accounts');
  return (
    <Card id="accounts" title={search === '' ? 'All accounts' : `Accounts with “${search}”`}>
      <Loaded data={accounts} what="accounts">
        {() => (
          <>
            {accounts.items.length > 0 ? (
              <ul class="rows">
                {accounts.items.map((account) => (
                  <AccountRow key={account.account_id} account={account} />
                ))}
              </ul>
            ) : (
              <p class="empty">{emptyText(search, accounts.more !== undefined)}</p>
            )}
            <div class="actions below">
              <MoreButton pages={accounts} what="accounts" />
              <NewAccount refused={refused} />
            </div>
          </>
        )}
      </Loaded>
    </Card>
  );
}

function emptyText(search: string, hasMore: boolean): string {
  if (hasMore) return 'None of the first accounts has it in its name. There are more to look through.';
  return search === '' ? 'There are no accounts yet.' : 'There is no such account.';
}

function AccountRow({ account }: { readonly account: Account }) {
  const { currency } = account;
  return (
    <li class={account.suspended_at === undefined ? undefined : 'over'}>
      <div class="row-head">
        <h3>
          <PageLink href={hrefOfPlace({ name: 'accounts', id: account.account_id })}>{account.name}</PageLink>
          {account.suspended_at === undefined ? null : <span class="badge">suspended</span>}
        </h3>
      </div>
      <dl class="facts">
        <Fact name="Available" text={`${numberText(account.available_credits)} ${currency}`} />
        <Fact name="Reserved" text={numberText(account.reserved_credits)} />
        <Fact name="Spent" text={numberText(account.spent_credits)} />
        <Fact name="Created" text={dateText(account.created_at)} />
      </dl>
    </li>
  );
}

function NewAccount({ refused }: RefusedProps) {
  const create = (form: FormData) =>
    change<{ readonly account: Account }>('/operator/accounts', {
      name: textOf(form, 'name'),
      currency: textOf(form, 'currency').trim(),
    });
  return (
    <ActButton
      label="New account"
      title="New account"
      consequence="It has no credits at first, and nobody who signs in for it."
      doIt="Create account"
      act={create}
      done={async ({ account }) => {
        announce(`The account ${account.name} is created.`);
        goTo(hrefOfPlace({ name: 'accounts', id: account.account_id }));
      }}
      refused={refused}
    >
      <label>
        Name
        <input name="name" required maxLength={100} />
      </label>
      <label>
        What its credits are called
        <input name="currency" maxLength={100} placeholder="credits" />
      </label>
    </ActButton>
  );
}
