// The capture front end of models/architectures. GraphBuilder itself lives in compiler/graph, because
// decompositions and derivatives of the op table write nodes with it, too.
#pragma once

#include "compiler/graph/graph_builder.h"
