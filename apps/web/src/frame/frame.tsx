import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from '../parts/icon.js';
import { MenuButton } from '../parts/overlays.js';
import { PlaceLink } from '../parts/parts.js';
import { hrefOf, type PageName, PAGES, place } from '../places.js';
import { overview, signOut } from '../session.js';
import { COMMAND, openPalette } from './shortcuts.js';

const ICONS: Readonly<Record<PageName, IconName>> = {
  'overview': 'house',
  'playground': 'wand-sparkles',
  'generations': 'images',
  'models': 'package',
  'usage': 'chart-column',
  'keys': 'key-round',
  'webhooks': 'webhook',
  'connections': 'plug',
  'account': 'circle-user',
  'operator': 'gauge',
  'operator-queue': 'rows-3',
  'operator-providers': 'server',
  'operator-accounts': 'users-round',
  'operator-catalog': 'file-text',
  'operator-ledger': 'shield-check',
};

const MAIN = ['overview', 'playground', 'generations', 'models', 'usage'] as const satisfies readonly PageName[];
const DEVELOPERS = ['keys', 'webhooks', 'connections'] as const satisfies readonly PageName[];
const OPERATOR = [
  'operator',
  'operator-queue',
  'operator-providers',
  'operator-accounts',
  'operator-catalog',
  'operator-ledger',
] as const satisfies readonly PageName[];

/** The icon of a page wherever it is listed. */
export function iconOf(page: PageName): IconName {
  return ICONS[page];
}

/** The sidebar and the bar at the bottom, around a page. */
export function Frame({ children }: { readonly children: ComponentChildren }) {
  return (
    <>
      <a class="skip" href="#content">
        Skip to content
      </a>
      <div class="frame">
        <Sidebar />
        {children}
      </div>
      <BottomBar />
    </>
  );
}

function Sidebar() {
  const shown = overview.value;
  // On a narrow screen it lies over the page that it has led to.
  const close = ({ target, currentTarget }: MouseEvent): void => {
    if ((target as Element).closest('a, .jump') !== null) (currentTarget as HTMLElement).hidePopover();
  };
  return (
    // The links inside are what is clicked.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions
    <nav class="sidebar" id="sidebar" popover="auto" aria-label="Main" onClick={close}>
      <PlaceLink page="overview" class="brand">
        <Brand />
        Darkroom
      </PlaceLink>
      <button type="button" class="jump" onClick={openPalette}>
        <Icon of="search" size={14} />
        Search or jump to
        <span aria-hidden="true">
          <kbd>{COMMAND}</kbd>
          <kbd>K</kbd>
        </span>
      </button>
      <Links pages={MAIN} />
      <p class="nav-title" id="nav-developers">
        Developers
      </p>
      <Links pages={DEVELOPERS} labelledBy="nav-developers">
        <li>
          <a href="/docs">
            <Icon of="book" />
            API reference
          </a>
        </li>
      </Links>
      {shown?.has_operator_area === true ? (
        <>
          <p class="nav-title" id="nav-operator">
            Operator
          </p>
          <Links pages={OPERATOR} labelledBy="nav-operator" />
        </>
      ) : null}
      <div class="sidebar-foot">
        {shown === undefined ? null : <Me name={shown.account.name} email={shown.person.email} />}
      </div>
    </nav>
  );
}

/** The mark of the project: a lens. */
function Brand() {
  return (
    <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
      <rect width="20" height="20" rx="5" fill="var(--ink)" />
      <circle cx="10" cy="10" r="5.2" fill="none" stroke="var(--on-ink)" stroke-width="1.6" />
      <circle cx="10" cy="10" r="2" fill="var(--accent)" />
    </svg>
  );
}

interface LinksProps {
  readonly pages: readonly PageName[];
  readonly labelledBy?: string;
  readonly children?: ComponentChildren;
}

function Links({ pages, labelledBy, children }: LinksProps) {
  return (
    <ul class="nav" aria-labelledby={labelledBy}>
      {pages.map((page) => (
        <li key={page}>
          <PlaceLink page={page} isCurrent={place.value.page === page}>
            <Icon of={ICONS[page]} />
            {PAGES[page].title}
          </PlaceLink>
        </li>
      ))}
      {children}
    </ul>
  );
}

/** The account and the person, with what concerns both. */
function Me({ name, email }: { readonly name: string; readonly email: string }) {
  return (
    <MenuButton
      label={`${name}, ${email}: account menu`}
      class="me"
      button={
        <>
          <span class="avatar" aria-hidden="true">
            {[...name][0] ?? '?'}
          </span>
          <span class="grow">
            <span class="cut">{name}</span>
            <span class="cut">{email}</span>
          </span>
          <Icon of="ellipsis" size={14} />
        </>
      }
      items={[
        { text: 'Account settings', icon: 'circle-user', href: hrefOf('account') },
        { text: 'Sign out', icon: 'log-out', act: signOut },
      ]}
    />
  );
}

function BottomBar() {
  const { page } = place.value;
  return (
    <nav class="bottom-bar" aria-label="Short">
      <PlaceLink page="overview" isCurrent={page === 'overview'}>
        <Icon of="house" size={18} />
        Home
      </PlaceLink>
      <PlaceLink page="playground" isCurrent={page === 'playground'}>
        <Icon of="wand-sparkles" size={18} />
        Create
      </PlaceLink>
      <PlaceLink page="generations" isCurrent={page === 'generations'}>
        <Icon of="images" size={18} />
        Generations
      </PlaceLink>
      <button type="button" popovertarget="sidebar">
        <Icon of="menu" size={18} />
        More
      </button>
    </nav>
  );
}
