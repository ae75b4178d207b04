import { ShieldX } from 'lucide-preact';
import { Empty, Page, type PageProps } from '../parts/parts.js';
import { place, titleOf, type PageName } from '../places.js';
import { AccountList } from './account-list.js';
import { AccountPage } from './account/account-page.js';
import { PasskeyNeeded } from './acts.js';
import { CatalogPage } from './catalog-page.js';
import { GenerationPage } from './generation-page.js';
import { LedgerCheckPage } from './ledger-check.js';
import { OverviewPage } from './overview-page.js';
import { AreaPage } from './places.js';
import { ProviderList } from './provider-list.js';
import { QueuePage } from './queue.js';

/** The area of operators, once they have signed in with a passkey. */
export function OperatorArea({ overview }: PageProps) {
  const { page, id } = place.value;
  if (page === undefined) return null;
  if (overview.has_operator_area && overview.session.method === 'passkey') return pageOf(page, id, overview.person.id);
  return (
    <Page title={titleOf(place.value)}>
      {overview.has_operator_area ? (
        <PasskeyNeeded overview={overview} />
      ) : (
        <Empty
          icon={ShieldX}
          title="You need operator rights to see this"
          text="Another operator can give them to you with darkroom people promote."
        />
      )}
    </Page>
  );
}

function pageOf(page: PageName, id: string | undefined, self: string) {
  if (page === 'operator') return <OverviewPage />;
  if (page === 'operator-queue') return id === undefined ? <QueuePage /> : <GenerationPage id={id} />;
  if (page === 'operator-catalog') return <CatalogPage />;
  if (page === 'operator-ledger') return <LedgerCheckPage />;
  if (page === 'operator-accounts') return id === undefined ? <AccountList /> : <AccountPage id={id} self={self} />;
  return (
    <AreaPage title="Providers">
      <ProviderList />
    </AreaPage>
  );
}
