import { useState } from 'preact/hooks';
import { Plus, SearchX, UsersRound } from 'lucide-preact';
import { dateText, numberText, textOf } from '../format.js';
import { Button, MoreButton } from '../parts/buttons.js';
import { SearchField } from '../parts/fields.js';
import { Field } from '../parts/form.js';
import { Badge, Card, Empty, Loaded } from '../parts/parts.js';
import { announce } from '../parts/toasts.js';
import { changeQuery, goTo, hrefOf, place } from '../places.js';
import { change } from '../server.js';
import { usePages } from '../use-data.js';
import { type Act, ActDialog } from './acts.js';
import { AreaPage, linkTo } from './places.js';
import type { Account } from './server-types.js';
import { Table } from '../parts/old-table.js';

/** All accounts, or those that are looked for, with their balances. */
export function AccountList() {
  const { q = '' } = place.value.query;
  const path = q === '' ? '/operator/accounts' : `/operator/accounts?search=${encodeURIComponent(q)}`;
  const accounts = usePages<'accounts', Account>(path, 'accounts');
  const [isCreating, setCreating] = useState(false);
  const create = (
    <Button kind="primary" icon={Plus} onClick={() => setCreating(true)}>
      Create account…
    </Button>
  );
  return (
    <AreaPage title="Accounts" actions={create}>
      <Card
        id="accounts"
        title={q === '' ? 'All accounts' : `Accounts with “${q}”`}
        isFlush
        actions={
          <SearchField
            label="Find an account"
            placeholder="Name, e-mail or id"
            value={q}
            maxLength={254}
            changed={(text) => changeQuery({ q: text })}
          />
        }
      >
        <Loaded data={accounts} what="accounts">
          {() => (
            <>
              {accounts.items.length === 0 ? (
                <NoAccounts search={q} hasMore={accounts.more !== undefined} />
              ) : (
                <Table
                  labelledBy="accounts"
                  columns={['Account', 'State']}
                  numbers={['Available', 'Reserved', 'Charged']}
                  items={accounts.items}
                >
                  {(account) => <AccountRow key={account.account_id} account={account} />}
                </Table>
              )}
              <MoreButton pages={accounts} what="accounts" />
            </>
          )}
        </Loaded>
      </Card>
      <ActDialog act={isCreating ? CREATE : undefined} close={() => setCreating(false)} done={() => undefined} />
    </AreaPage>
  );
}

function NoAccounts({ search, hasMore }: { readonly search: string; readonly hasMore: boolean }) {
  if (hasMore)
    return <Empty icon={SearchX} title="None of the first accounts matches" text="Load more to search on." />;
  if (search === '')
    return <Empty icon={UsersRound} title="No accounts yet" text="An account has credits, people and keys." />;
  return (
    <Empty
      icon={SearchX}
      title="No account matches"
      text="Enter a part of its name, the e-mail address of a person, or the id of an account, App, key, person or generation."
    >
      <Button onClick={() => changeQuery({ q: undefined })}>Show all accounts</Button>
    </Empty>
  );
}

function AccountRow({ account }: { readonly account: Account }) {
  return (
    <tr class={account.suspended_at === undefined ? undefined : 'over'}>
      <th scope="row">
        <span class="named">{linkTo('operator-accounts', account.name, account.account_id)}</span>
        <small>{`Created ${dateText(account.created_at)}`}</small>
      </th>
      <td data-name="State">
        <AccountState account={account} />
      </td>
      <td data-name="Available" class="number">
        <div>
          {numberText(account.available_credits)} <span class="faint">{account.currency}</span>
        </div>
      </td>
      <td data-name="Reserved" class="number">
        {numberText(account.reserved_credits)}
      </td>
      <td data-name="Charged" class="number">
        {numberText(account.spent_credits)}
      </td>
    </tr>
  );
}

export function AccountState({ account }: { readonly account: Account }) {
  if (account.erased_at !== undefined) return <Badge look="plain">Erased</Badge>;
  return account.suspended_at === undefined ? <Badge look="ok">Active</Badge> : <Badge look="fail">Suspended</Badge>;
}

const CREATE: Act = {
  question: 'Create account',
  consequence: 'It begins without credits, people and keys.',
  isHarmless: true,
  doIt: 'Create account',
  busyText: 'Creating…',
  children: (
    <>
      <Field label="Name">
        {(control) => <input {...control} class="input" name="name" required maxLength={100} />}
      </Field>
      <Field label="Name of its credits" note="optional">
        {(control) => <input {...control} class="input" name="currency" maxLength={100} placeholder="credits" />}
      </Field>
    </>
  ),
  action: async (form) => {
    const { account } = await change<{ readonly account: Account }>('/operator/accounts', {
      name: textOf(form, 'name'),
      currency: textOf(form, 'currency').trim(),
    });
    announce(`The account ${account.name} is created.`);
    goTo(hrefOf('operator-accounts', { id: account.account_id }));
    return '';
  },
};
