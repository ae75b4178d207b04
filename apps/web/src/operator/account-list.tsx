import { dateText, numberText, textOf } from '../format.js';
import { Button } from '../parts/buttons.js';
import { SearchField } from '../parts/fields.js';
import { TextField } from '../parts/form.js';
import { Badge, Empty } from '../parts/parts.js';
import { type Column, Named, TableCard } from '../parts/table.js';
import { announce } from '../parts/toasts.js';
import { changeQuery, goTo, hrefOf, place } from '../places.js';
import { change } from '../server.js';
import { unitOf } from '../session.js';
import { usePages } from '../use-data.js';
import { AreaPage, createButton, linkTo, type Numbers } from './area-page.js';

type Credits = 'issued_credits' | 'available_credits' | 'reserved_credits' | 'spent_credits';

export interface Account extends Numbers<Credits | 'open_holds'> {
  readonly account_id: string;
  readonly name: string;
  readonly currency: string;
  readonly created_at: string;
  readonly suspended_at?: string;
  readonly erased_at?: string;
}

/** All accounts, or those that are looked for, with their balances. */
export function AccountList() {
  const { q = '' } = place.value.query;
  const path = q === '' ? '/operator/accounts' : `/operator/accounts?search=${encodeURIComponent(q)}`;
  const accounts = usePages<'accounts', Account>(path, 'accounts');
  return (
    <AreaPage title="Accounts" actions={createAccountButton()}>
      <TableCard
        id="accounts"
        title={q === '' ? 'All accounts' : `Accounts with “${q}”`}
        actions={
          <SearchField
            label="Find an account"
            placeholder="Name, e-mail or id"
            value={q}
            maxLength={254}
            changed={(text) => changeQuery({ q: text })}
          />
        }
        pages={accounts}
        what="accounts"
        idOf={(account) => account.account_id}
        isOver={(account) => account.suspended_at !== undefined}
        columns={COLUMNS}
        empty={noAccounts(q, accounts.more !== undefined)}
      />
    </AreaPage>
  );
}

function noAccounts(search: string, hasMore: boolean) {
  if (hasMore)
    return <Empty icon="search-x" title="None of the first accounts matches" text="Load more to search on." />;
  if (search === '')
    return <Empty icon="users-round" title="No accounts yet" text="An account has credits, people and keys." />;
  return (
    <Empty
      icon="search-x"
      title="No account matches"
      text="Enter a part of its name, the e-mail address of a person, or the id of an account, App, key, person or generation."
    >
      <Button onClick={() => changeQuery({ q: undefined })}>Show all accounts</Button>
    </Empty>
  );
}

const COLUMNS: readonly Column<Account>[] = [
  [
    'Account',
    (account) => (
      <Named note={`Created ${dateText(account.created_at)}`}>
        {linkTo('operator-accounts', account.name, account.account_id)}
      </Named>
    ),
  ],
  ['State', accountState],
  [
    'Available',
    (account) => (
      <div>
        {numberText(account.available_credits)}{' '}
        <span class="faint">{unitOf(account.available_credits, account.currency)}</span>
      </div>
    ),
    'number',
  ],
  ['Reserved', (account) => numberText(account.reserved_credits), 'number'],
  ['Charged', (account) => numberText(account.spent_credits), 'number'],
];

export function accountState(account: Account) {
  if (account.erased_at !== undefined) return <Badge look="plain">Erased</Badge>;
  return account.suspended_at === undefined ? <Badge look="ok">Active</Badge> : <Badge look="fail">Suspended</Badge>;
}

function createAccountButton() {
  return createButton('account', {
    kind: 'primary',
    text: 'It begins without credits, people and keys.',
    fields: (
      <>
        <TextField label="Name" name="name" required maxLength={100} />
        <TextField label="Name of its credits" note="optional" name="currency" maxLength={100} placeholder="credits" />
      </>
    ),
    act: (form) =>
      change<{ readonly account: Account }>('/operator/accounts', {
        name: textOf(form, 'name'),
        currency: textOf(form, 'currency').trim(),
      }),
    done: ({ account }) => {
      announce(`The account ${account.name} is created.`);
      goTo(hrefOf('operator-accounts', { id: account.account_id }));
    },
  });
}
