import { useState } from 'preact/hooks';
import { announce } from '../parts/toasts.js';
import { dateText, numberText, textOf } from '../format.js';
import { MoreButton } from '../parts/buttons.js';
import { Card, Loaded, Row, Rows } from '../parts/parts.js';
import { goTo, hrefOf } from '../places.js';
import { change } from '../server.js';
import { ActButton } from './act-button.js';
import type { Account } from './server-types.js';
import { usePages } from '../use-data.js';
import { linkTo } from './places.js';

/** All accounts, or those that are looked for. */
export function AccountList() {
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
      <Found key={search} search={search} />
    </>
  );
}

function Found({ search }: { readonly search: string }) {
  const query = search === '' ? '' : `?search=${encodeURIComponent(search)}`;
  const accounts = usePages<'accounts', Account>(`/operator/accounts${query}`, 'accounts');
  return (
    <Card id="accounts" title={search === '' ? 'All accounts' : `Accounts with “${search}”`}>
      <Loaded data={accounts} what="accounts">
        {() => (
          <>
            <Rows items={accounts.items} empty={emptyText(search, accounts.more !== undefined)}>
              {(account) => <AccountRow key={account.account_id} account={account} />}
            </Rows>
            <div class="row wrap">
              <MoreButton pages={accounts} what="accounts" />
              <NewAccount />
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
  return (
    <Row
      title={linkTo('operator-accounts', account.name, account.account_id)}
      badge={account.suspended_at && (account.erased_at === undefined ? 'suspended' : 'erased')}
      isOver={account.suspended_at !== undefined}
      facts={[
        ['Available', `${numberText(account.available_credits)} ${account.currency}`],
        ['Reserved', numberText(account.reserved_credits)],
        ['Spent', numberText(account.spent_credits)],
        ['Created', dateText(account.created_at)],
      ]}
    />
  );
}

function NewAccount() {
  const create = (form: FormData) =>
    change<{ readonly account: Account }>('/operator/accounts', {
      name: textOf(form, 'name'),
      currency: textOf(form, 'currency').trim(),
    });
  return (
    <ActButton
      label="New account"
      isHarmless
      question="New account"
      consequence="It has no credits at first, and nobody who signs in for it."
      doIt="Create account"
      action={create}
      done={async ({ account }) => {
        announce(`The account ${account.name} is created.`);
        goTo(hrefOf('operator-accounts', { id: account.account_id }));
      }}
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
