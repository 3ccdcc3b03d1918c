// What the keyboard does on every page.
"use strict";
