import { Empty, Page, type PageProps } from '../parts/parts.js';
import { ShieldX } from 'lucide-preact';
import { AccountList } from './account-list.js';
import { AccountPage } from './account/account-page.js';
import { PasskeyNeeded, RecentSignInNeeded, Refused } from './act-button.js';
import { BooksPage } from './books-page.js';
import { GenerationPage } from './generation-page.js';
import { OverviewPage } from './overview-page.js';
import { ProviderList } from './provider-list.js';
import { place, titleOf, type PageName } from '../places.js';
import { reloadOverview } from '../session.js';
import { WorkList } from './work-list.js';

/** The area of operators, once they have signed in with a passkey. */
export function OperatorArea({ overview }: PageProps) {
  const { page, id } = place.value;
  if (page === 'operator' && overview.has_operator_area && overview.session.method === 'passkey')
    return <OverviewPage />;
  return <Page title={titleOf(place.value)}>{page === undefined ? null : areaOf(page, id, overview)}</Page>;
}

function areaOf(page: PageName, id: string | undefined, overview: PageProps['overview']) {
  if (!overview.has_operator_area)
    return (
      <Empty
        icon={ShieldX}
        title="You need operator rights to see this"
        text="Another operator can give them to you with darkroom people promote."
      />
    );
  if (overview.session.method !== 'passkey') return <PasskeyNeeded overview={overview} />;
  return (
    <>
      {overview.session.is_recent ? null : <RecentSignInNeeded />}
      {/* A sign-in may have become too old since the page was opened, which the notice above then says. */}
      <Refused.Provider value={() => void reloadOverview()}>{contentOf(page, id, overview.person.id)}</Refused.Provider>
    </>
  );
}

function contentOf(page: PageName, id: string | undefined, self: string) {
  if (page === 'operator-queue') return id === undefined ? <WorkList /> : <GenerationPage id={id} />;
  if (page === 'operator-providers') return <ProviderList />;
  if (page === 'operator-ledger') return <BooksPage />;
  return id === undefined ? <AccountList /> : <AccountPage id={id} self={self} />;
}
