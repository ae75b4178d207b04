// The build then puts what the pages share into one file, as later-pages.ts explains.
import '../console.js';
import type { ComponentType } from 'preact';
import { Attention, Empty, Page, type PageProps, SignInButton } from '../parts/parts.js';
import { place, titleOf, type PageName } from '../places.js';
import { AccountList } from './account-list.js';
import { AccountPage } from './account/account-page.js';
import { CatalogPage } from './catalog-page.js';
import { LedgerCheckPage } from './ledger-check.js';
import { OverviewPage } from './overview-page.js';
import { ProvidersPage } from './providers.js';
import { GenerationPage, QueuePage } from './queue.js';

const PAGES: Readonly<Partial<Record<PageName, ComponentType>>> = {
  'operator': OverviewPage,
  'operator-queue': QueuePage,
  'operator-providers': ProvidersPage,
  'operator-accounts': AccountList,
  'operator-catalog': CatalogPage,
  'operator-ledger': LedgerCheckPage,
};

/** The area of operators, once they have signed in with a passkey. */
export function OperatorArea({ overview }: PageProps) {
  const { page = 'operator', id } = place.value;
  const Shown = PAGES[page];
  if (Shown === undefined) return null;
  if (!overview.has_operator_area || overview.session.method !== 'passkey')
    return <Page title={titleOf(place.value)}>{whyNot(overview)}</Page>;
  if (id === undefined) return <Shown />;
  return page === 'operator-queue' ? <GenerationPage key={id} id={id} /> : <AccountPage key={id} id={id} />;
}

function whyNot({ has_operator_area: isOperator, person }: PageProps['overview']) {
  if (!isOperator)
    return (
      <Empty
        icon="shield-x"
        title="You need operator rights to see this"
        text="Another operator can give them to you with darkroom people promote."
      />
    );
  if (person.has_passkey)
    return (
      <Attention action={<SignInButton />}>
        Operator pages need a sign-in with a passkey. You signed in another way.
      </Attention>
    );
  return (
    <Empty
      icon="key-round"
      title="Operator pages need a passkey"
      text={
        <>
          You have none any more. Ask another operator to run <code>darkroom people demote</code>, add a passkey under
          Account, and have yourself promoted again.
        </>
      }
    />
  );
}
