import { useEffect, useRef } from 'preact/hooks';
import { Link, Package } from 'lucide-preact';
import { type ConsoleModel, useModels } from '../models/use-models.js';
import { Button, useCopy } from '../parts/buttons.js';
import { Empty, Fault, Loaded, type PageProps, Page } from '../parts/parts.js';
import { hrefOf, place } from '../places.js';
import { useLatest } from '../use-data.js';
import { RequestCode } from './code/request-code.js';
import { ActBar } from './form/act-bar.js';
import { layoutOf } from './form/parameters.js';
import { RequestForm } from './form/request-form.js';
import { HistoryStrip } from './result/history-strip.js';
import { ResultPane } from './result/result-pane.js';
import { codeRequest, usePlayground } from './use-playground.js';

/** Creates images and videos in the App of this page. */
export function PlaygroundPage({ overview }: PageProps) {
  const models = useModels();
  const skeleton = (
    <div class="play">
      <div class="play-form" />
      <div class="play-out" />
    </div>
  );
  return (
    <Page title="Playground" width="full" actions={<ShareButton />}>
      {overview.account.is_suspended ? (
        <div class="play-note">
          <Fault text="The account is suspended. Nothing can be created until the operator resumes it." />
        </div>
      ) : (
        <Loaded data={models} what="models" skeleton={skeleton}>
          {(all) => {
            const first = all.find(({ is_test: isTest }) => !isTest) ?? all[0];
            return first === undefined ? (
              <Empty icon={Package} title="No models yet" text="The operator has no model in the catalog." />
            ) : (
              <Playground overview={overview} models={all} first={first} />
            );
          }}
        </Loaded>
      )}
    </Page>
  );
}

/** Copies the address, which leads others of the account to the same settings. */
function ShareButton() {
  const { from, model } = place.value.query;
  const href = hrefOf('playground', { query: { from, model } });
  const [isCopied, copy] = useCopy(location.origin + href, 'the address');
  return (
    <Button kind="quiet" icon={Link} label="Share setup" onClick={() => void copy()}>
      <span class="wide-only">{isCopied ? 'Address copied' : 'Share setup'}</span>
    </Button>
  );
}

interface PlaygroundProps extends PageProps {
  models: readonly ConsoleModel[];
  first: ConsoleModel;
}

/** The form for a request, its result, the same request as code, and the history. */
function Playground({ overview, models, first }: PlaygroundProps) {
  const root = useRef<HTMLDivElement>(null);
  const playground = usePlayground({ overview, models, first, root });
  const { from, form, references, creating, request, submit } = playground;
  const press = useLatest(() => submit());
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const isCreate = event.key === 'Enter' && (event.metaKey || event.ctrlKey) && !event.repeat;
      if (!isCreate || (event.target as Element).closest('dialog, [popover]') !== null) return;
      event.preventDefault();
      press();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [press]);
  const { modality } = form.model;
  const { count } = layoutOf(form.fields, form.request.parameters ?? {});
  return (
    <div
      ref={root}
      class="play"
      onPaste={(event) => {
        const files = [...(event.clipboardData?.files ?? [])];
        if (files.length === 0) return;
        event.preventDefault();
        references.take(form.model, files);
      }}
    >
      <form class="play-form" onSubmit={submit} noValidate aria-label="Request">
        <div class="play-fields">
          <RequestForm models={models} form={form} references={references} faultAt={playground.faultAt} />
        </div>
        <ActBar
          estimated={playground.estimated}
          what={count === 1 ? modality : `${count} ${modality}s`}
          isBusy={creating !== undefined}
          fault={playground.fault}
          varySeed={playground.varySeed}
        />
      </form>
      <section class="play-out" aria-label="Result">
        <ResultPane
          key={from}
          id={from}
          details={playground.details}
          made={playground.shown}
          creating={creating}
          acts={playground.acts}
          view={playground.view}
          select={playground.setView}
          request={request}
          code={<RequestCode request={codeRequest(form, references)} />}
        />
        <HistoryStrip generations={playground.history} currentId={from} />
      </section>
    </div>
  );
}
