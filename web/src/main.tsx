// SPDX-License-Identifier: Apache-2.0
import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import { create_api } from './api';
import { App } from './app';
import { create_enterings } from './count_entering';
import { create_look } from './look';
import { create_notices } from './notices';
import './page.css';
import { create_router } from './route';
import { create_session } from './session';
import { ShellContext, type Shell } from './shell';

const session = create_session();
const means = {
  api: create_api(session),
  look: create_look(window.localStorage, navigator, document.documentElement),
  notices: create_notices(),
};
const shell: Shell = {
  ...means, session, router: create_router(window), enterings: create_enterings(means),
};

const root = document.getElementById('page');
if (!root) throw new Error('index.html has no #page');
render(<ShellContext.Provider value={shell}><App /></ShellContext.Provider>, root);
