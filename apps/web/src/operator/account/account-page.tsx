import { Loaded } from '../../parts/loaded.js';
import { PageLink } from '../../parts/page-link.js';
import { useData } from '../../use-data.js';
import { hrefOfPlace } from '../places.js';
import type { Account, Entry } from '../server-types.js';
import { usePages } from '../use-pages.js';
import { AppList } from './app-list.js';
import { BooksCard } from './books-card.js';
import { CreditsForm } from './credits-form.js';
import { KeyList } from './key-list.js';
import { Ledger } from './ledger.js';
import { PeopleCard } from './people-card.js';

interface AccountPageProps {
  readonly id: string;
  /** The operator's own person. */
  readonly self: string;
  readonly refused: () => void;
}

/** One account: its books, ledger, people, keys and Apps. */
export function AccountPage({ id, self, refused }: AccountPageProps) {
  const path = `/operator/accounts/${encodeURIComponent(id)}`;
  const account = useData<{ readonly account: Account }>(path);
  const entries = usePages<'entries', Entry>(`${path}/entries`, 'entries');
  const changed = async (): Promise<void> => {
    await Promise.all([account.reload(), entries.reload()]);
  };
  return (
    <>
      <p class="back">
        <PageLink href={hrefOfPlace({ name: 'accounts' })}>All accounts</PageLink>
      </p>
      <Loaded data={account} what="the account">
        {({ account: shown }) => (
          <>
            <BooksCard account={shown} path={path} changed={account.reload} refused={refused} />
            <CreditsForm account={shown} path={path} changed={changed} refused={refused} />
            <Ledger entries={entries} currency={shown.currency} />
            <PeopleCard path={path} self={self} refused={refused} />
            <KeyList path={path} currency={shown.currency} refused={refused} />
            <AppList path={path} />
          </>
        )}
      </Loaded>
    </>
  );
}
